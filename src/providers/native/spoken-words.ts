import type { TranscribedSegment } from '../stt.types.js';

/** One word as a provider heard it. */
export interface SpokenWord {
  word: string;
  /** Seconds. */
  start: number;
  end: number;
  /** The provider's own name of the speaker; null if unknown. */
  speaker: string | null;
}

type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;
const numbered = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) ? value : 0;

/**
 * Reads words with times and speakers from `words` of an answer, in the form of most providers; empty if there are none. `scale`: time units in a
 * second.
 */
export function wordsIn(body: unknown, scale = 1): SpokenWord[] {
  if (!isFields(body) || !Array.isArray(body['words'])) return [];
  return body['words']
    .filter(isFields)
    .filter((word) => (word['type'] ?? 'word') === 'word')
    .map((word) => spoken(word, scale));
}

function spoken(word: Fields, scale: number): SpokenWord {
  const speaker = word['speaker'] ?? word['speaker_id'];
  return {
    word: String(word['punctuated_word'] ?? word['text'] ?? word['word'] ?? '').trim(),
    start: numbered(word['start']) / scale,
    end: numbered(word['end']) / scale,
    speaker: typeof speaker === 'string' || typeof speaker === 'number' ? String(speaker) : null,
  };
}

/** Silence after which a new segment starts, seconds. */
const PAUSE = 1;
/** A longer segment ends with its sentence's next word. */
const LONG_WORDS = 40;

/** Builds segments: one ends at a full stop, a pause, or a change of speaker. */
export function segmentsOfWords(
  words: readonly SpokenWord[],
  wanted: { words: boolean; diarization: boolean },
): TranscribedSegment[] {
  const groups: SpokenWord[][] = [];
  for (const word of words) {
    const group = groups.at(-1);
    const last = group?.at(-1);
    const continuesGroup =
      last !== undefined &&
      !/[.!?…]$/.test(last.word) &&
      word.start - last.end < PAUSE &&
      word.speaker === last.speaker &&
      (group?.length ?? 0) < LONG_WORDS;
    if (continuesGroup) group?.push(word);
    else groups.push([word]);
  }
  const labels = new Map<string, string>();
  return groups.map((group) => segmentOf(group, { wanted, labels }));
}

function segmentOf(
  group: SpokenWord[],
  { wanted, labels }: { wanted: { words: boolean; diarization: boolean }; labels: Map<string, string> },
): TranscribedSegment {
  const [first, last] = [group[0] as SpokenWord, group.at(-1) as SpokenWord];
  return {
    start: first.start,
    end: last.end,
    text: group.map(({ word }) => word).join(' '),
    speaker: wanted.diarization && first.speaker !== null ? labelOf(first.speaker, labels) : null,
    words: wanted.words ? group.map(({ word, start, end }) => ({ word, start, end })) : null,
  };
}

function labelOf(speaker: string, labels: Map<string, string>): string {
  const label = labels.get(speaker) ?? `SPEAKER_${String(labels.size).padStart(2, '0')}`;
  labels.set(speaker, label);
  return label;
}
