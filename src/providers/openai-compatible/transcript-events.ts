import type { TranscriptPart, Logprob } from '../../contract/live.js';
import { isFields } from '../convention/answer-text.js';
import { AnswerEvents } from './answer-events.js';

type Fields = Record<string, unknown>;

/** A transcription that is streamed. */
export interface TranscriptEvents {
  /** Gets the answer's bytes as they come. */
  push(bytes: Buffer): void;
  /** The answer as one object, as if it had not been streamed; null where it was not. @throws UpstreamError */
  end(): Fields | null;
}

/** @param label gives a speaker the name that the answer will have for it */
export function readTranscriptEvents(
  onTranscriptPart: (part: TranscriptPart) => void,
  label: (speaker: unknown) => string | null,
): TranscriptEvents {
  let said = '';
  let last: Fields = {};
  const segments: Fields[] = [];
  const events = new AnswerEvents((event) => {
    if (event['type'] === 'transcript.text.done') last = event;
    else if (event['type'] === 'transcript.text.segment') {
      segments.push(event);
      onTranscriptPart({ segment: segmentOf(event, label) });
    } else {
      const delta = deltaOf(event);
      if (isFields(event['usage'])) last = { usage: event['usage'] };
      if (delta === '') return false;
      said += delta;
      onTranscriptPart({ delta, ...logprobsOf(event) });
    }
    return event === last && event['type'] !== undefined;
  });
  return {
    push: events.push,
    end() {
      if (!events.end()) return null;
      const { text, usage } = last;
      return {
        text: typeof text === 'string' ? text : said,
        ...(segments.length > 0 ? { segments } : {}),
        ...(usage == null ? {} : { usage }),
      };
    },
  };
}

/** The convention's event, or a chunk as vLLM sends it. */
function deltaOf({ delta, choices }: Fields): string {
  if (typeof delta === 'string') return delta;
  const [choice] = Array.isArray(choices) ? (choices as unknown[]) : [];
  const inner = isFields(choice) ? choice['delta'] : null;
  const content = isFields(inner) ? inner['content'] : null;
  return typeof content === 'string' ? content : '';
}

function logprobsOf({ logprobs }: Fields): { logprobs?: Logprob[] } {
  return Array.isArray(logprobs) && logprobs.length > 0 ? { logprobs: logprobs as Logprob[] } : {};
}

function segmentOf({ start, end, text, speaker }: Fields, label: (speaker: unknown) => string | null) {
  return {
    start: Number(start ?? 0),
    end: Number(end ?? 0),
    text: typeof text === 'string' ? text.trim() : '',
    speaker: label(speaker),
  };
}
