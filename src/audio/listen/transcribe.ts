import type { TranscribeTask, Transcript, TranscriptSegment } from '../audio.types.js';
import { probe } from '../decode/probe.js';
import { readMark } from '../mark.js';
import { alignWords } from './align.js';
import type { HeardWord } from './align.js';
import { envelopeOf } from './envelope.js';
import { languageOf } from './language.js';
import { turnsOf } from './speakers.js';
import { speechSpans } from './spans.js';
import type { Span } from './spans.js';

/** What stands for words that are not known. */
const UNKNOWN = '[speech]';
const UNDETERMINED = 'und';
/** Nobody speaks slower or faster than so many letters a second, at any speed that the voice knows. */
const SLOWEST = 1.5;
const FASTEST = 130;
/** Turns follow each other more closely than sentences. */
const TURN_PAUSE_SECONDS = 0.25;

/**
 * Listens to a recording: segments by loudness, speakers by pitch. Words are those that the sandbox voice wrote into its sound; of any other
 * recording none are invented.
 * @throws UnreadableAudioError
 */
export async function transcribe(
  task: TranscribeTask,
  onProgress: (percent: number) => void,
): Promise<Transcript> {
  const { bytes, diarization, translation, maxSeconds } = task;
  const probed = await probe(bytes);
  const envelope = await envelopeOf(bytes, probed, { maxSeconds, pitch: diarization, onProgress });
  const spans = speechSpans(envelope, diarization ? TURN_PAUSE_SECONDS : undefined);
  const turns = diarization ? turnsOf(envelope, spans) : spans.map((span) => ({ ...span, speaker: null }));
  const said = wordsSaid(bytes, spans);
  const language = task.language ?? (said === null ? UNDETERMINED : languageOf(said));
  // Another language is named, not translated: this engine knows no other words than those that were written into the sound.
  const known = said !== null && !(translation && language !== 'en') ? said : null;
  const unknown = translation && said !== null ? `[speech in ${language}]` : UNKNOWN;
  const words = known === null ? null : alignWords(known, turns);
  const segments = turns
    .map((turn, index) => segmentOf(turn, words?.[index] ?? null, unknown))
    .filter(({ text }) => text !== '');
  return {
    text: known === null ? segments.map(({ text }) => text).join(' ') : known.replace(/\s+/g, ' ').trim(),
    segments,
    language: segments.length === 0 && task.language === null ? UNDETERMINED : language,
    durationSeconds: probed.durationSeconds,
  };
}

/** The words that stand in the sound, unless they cannot be all that is heard. */
function wordsSaid(bytes: Uint8Array, spans: readonly Span[]): string | null {
  const text = readMark(bytes)?.text;
  const spoken = spans.reduce((sum, { start, end }) => sum + end - start, 0);
  if (text === undefined || spoken === 0) return null;
  const rate = text.length / spoken;
  return rate >= SLOWEST && rate <= FASTEST && /[\p{L}\p{N}]/u.test(text) ? text : null;
}

function segmentOf(
  { start, end, speaker }: Span & { speaker: number | null },
  words: HeardWord[] | null,
  unknown: string,
): TranscriptSegment {
  const heard = words ?? [{ word: unknown, start, end }];
  return {
    start: rounded(start),
    end: rounded(end),
    text: heard.map(({ word }) => word).join(' '),
    speaker: speaker === null ? null : `SPEAKER_${String(speaker).padStart(2, '0')}`,
    words: heard.map((word) => ({ word: word.word, start: rounded(word.start), end: rounded(word.end) })),
  };
}

function rounded(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}
