import type { TranscribedSegment } from '../transcription.types.js';

/** One word as a provider heard it. */
export interface SpokenWord {
  word: string;
  /** Seconds. */
  start: number;
  end: number;
  /** The provider's own name of who spoke; null where unknown. */
  speaker: string | null;
}

type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;
const numbered = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) ? value : 0;

/** Words from the answers of Deepgram, ElevenLabs and AssemblyAI; empty for any other. */
export function spokenWordsOf(body: unknown): SpokenWord[] {
  if (!isFields(body)) return [];
  if (isFields(body['results'])) return deepgramWords(body['results']).map((word) => spoken(word, 1));
  if (!Array.isArray(body['words'])) return [];
  const words = body['words'].filter(isFields);
  // AssemblyAI counts milliseconds and says what its answer's state is.
  const scale = typeof body['status'] === 'string' || 'audio_duration' in body ? 1000 : 1;
  return words.filter((word) => (word['type'] ?? 'word') === 'word').map((word) => spoken(word, scale));
}

function deepgramWords(results: Fields): Fields[] {
  const channel: unknown = Array.isArray(results['channels']) ? results['channels'][0] : undefined;
  const best: unknown =
    isFields(channel) && Array.isArray(channel['alternatives']) ? channel['alternatives'][0] : undefined;
  return isFields(best) && Array.isArray(best['words']) ? best['words'].filter(isFields) : [];
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

/** Sentences: a segment ends with a full stop, a pause, or where another speaks. */
export function segmentsOfWords(
  words: readonly SpokenWord[],
  wanted: { words: boolean; diarization: boolean },
): TranscribedSegment[] {
  const groups: SpokenWord[][] = [];
  for (const word of words) {
    const group = groups.at(-1);
    const last = group?.at(-1);
    const goesOn =
      last !== undefined &&
      !/[.!?…]$/.test(last.word) &&
      word.start - last.end < PAUSE &&
      word.speaker === last.speaker &&
      (group?.length ?? 0) < LONG_WORDS;
    if (goesOn) group?.push(word);
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
