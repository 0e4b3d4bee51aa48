import type { ReactNode } from 'react';
import { filesIn } from '../data/files.js';
import type { JobRow, JobTool } from '../data/jobs.js';

/** Line drawings for jobs that have no image. */
const DRAWINGS: Record<JobTool, string> = {
  image: 'M2 3h12v10H2zM2 11l4-4 3 3 2-2 3 3',
  image_edit: 'M3 13l1-3 7-7 2 2-7 7z',
  video: 'M2 4h9v8H2zM11 7l3-2v6l-3-2',
  music: 'M6 12V4l7-1v8M6 12a2 2 0 1 1-.01 0M13 11a2 2 0 1 1-.01 0',
  tts: 'M2 6v4h3l4 3V3L5 6zM11 6c1 1 1 3 0 4M13 4c2 2 2 6 0 8',
  stt: 'M8 2a2 2 0 0 1 2 2v4a2 2 0 0 1-4 0V4a2 2 0 0 1 2-2M4 8a4 4 0 0 0 8 0M8 12v2',
};

/** A small image of a job's output. If there is none yet, or the output is sound, a drawing of the job's kind. */
export function Thumbnail({
  job: { tool, outputData },
}: {
  job: Pick<JobRow, 'tool' | 'outputData'>;
}): ReactNode {
  const file = filesIn(outputData).find(({ kind }) => kind === 'image' || kind === 'video');
  return (
    <span className="thumb" aria-hidden="true">
      {file?.kind === 'image' && <img src={file.href} alt="" loading="lazy" />}
      {file?.kind === 'video' && (
        <video src={`${file.href}#t=0.1`} muted playsInline preload="metadata" tabIndex={-1} />
      )}
      {file === undefined && (
        <svg viewBox="0 0 16 16">
          <path d={DRAWINGS[tool]} />
        </svg>
      )}
    </span>
  );
}
