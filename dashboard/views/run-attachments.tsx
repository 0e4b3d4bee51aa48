import type { ReactNode } from 'react';
import { fileOf } from '../data/files.js';
import type { Run } from '../data/runs.js';

/** The files that came with the task of a run: images as thumbnails, everything else by name. */
export function RunAttachments({ attachments }: Pick<Run, 'attachments'>): ReactNode {
  if (attachments.length === 0) return null;
  return (
    <ul className="attachments" aria-label="Attached files">
      {attachments.map((attachment, at) => (
        <li key={`${at} ${attachment.name}`}>
          <Attachment attachment={attachment} />
        </li>
      ))}
    </ul>
  );
}

function Attachment({ attachment: { name, url } }: { attachment: Run['attachments'][number] }): ReactNode {
  const file = url === null ? null : fileOf(url);
  if (file === null) return <span className="chip">{name}</span>;
  return (
    <a className="chip" href={file.href} target="_blank" rel="noreferrer">
      <span className="thumb">
        <img src={file.href} alt="" loading="lazy" />
      </span>
      {name}
    </a>
  );
}
