import type { ReactNode } from 'react';
import { filesIn, type MediaFile } from '../data/files.js';

function Medium({ file: { href, kind }, label }: { file: MediaFile; label: string }): ReactNode {
  if (kind === 'image')
    return (
      <a href={href} target="_blank" rel="noreferrer" aria-label={`${label}, full size`}>
        <img src={href} alt={label} loading="lazy" />
      </a>
    );
  if (kind === 'video') return <video src={href} controls loop playsInline aria-label={label} />;
  if (kind === 'audio') return <audio src={href} controls aria-label={label} />;
  return (
    <a href={href} target="_blank" rel="noreferrer">
      Open the file
    </a>
  );
}

/** The text of a transcript, or any other text of an output. */
function textIn(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null;
  const { text } = value as { text?: unknown };
  if (typeof text === 'string') return text;
  return (
    Object.values(value)
      .map(textIn)
      .find((found) => found !== null) ?? null
  );
}

/** Shows the output of a job: images, videos, sound and text. */
export function OutputPreview({ output, label }: { output: unknown; label: string }): ReactNode {
  const files = filesIn(output);
  const text = textIn(output);
  if (files.length === 0 && text === null) return null;
  return (
    <div className="output">
      {text !== null && <p className="output-text">{text}</p>}
      {files.length > 0 && (
        <ul className={`media media-${files[0]?.kind ?? 'other'}`}>
          {files.map((file, at) => (
            <li key={file.href}>
              <Medium
                file={file}
                label={files.length > 1 ? `${label}, ${at + 1} of ${files.length}` : label}
              />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Shows data as JSON. */
export function Json({ value }: { value: unknown }): ReactNode {
  return (
    <pre className="json" tabIndex={0}>
      {JSON.stringify(value, shorten, 2)}
    </pre>
  );
}

const LONG = 2000;

/** Shortens files in base64, which would fill the page. */
function shorten(_key: string, value: unknown): unknown {
  return typeof value === 'string' && value.length > LONG
    ? `${value.slice(0, LONG)}… (${value.length} characters)`
    : value;
}
