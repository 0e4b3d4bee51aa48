import { AnswerEvents } from './answer-events.js';

type Fields = Record<string, unknown>;

/** A stream of pictures: partial ones while they are drawn, then the final ones. */
export interface PictureEvents {
  /** Gets the answer's bytes as they come. */
  push(bytes: Buffer): void;
  /** The answer as if it had not been streamed; null where it was not. @throws UpstreamError */
  end(): Fields | null;
}

/** @param onPartial gets each coarser picture */
export function readPictureEvents(onPartial: (bytes: Uint8Array) => void): PictureEvents {
  const data: Fields[] = [];
  let usage: unknown = null;
  const events = new AnswerEvents((event) => {
    const { type, b64_json: base64 } = event;
    if (typeof type !== 'string' || typeof base64 !== 'string') return false;
    if (type.endsWith('.partial_image')) onPartial(Buffer.from(base64, 'base64'));
    if (!type.endsWith('.completed')) return false;
    data.push(event);
    usage = event['usage'] ?? usage;
    return true;
  });
  return {
    push: events.push,
    end: () => (events.end() ? { data, ...(usage == null ? {} : { usage }) } : null),
  };
}
