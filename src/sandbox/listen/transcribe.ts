import type { TranscribeTask, Transcript, TranscriptSegment } from '../sound/sound.types.js';
import { probe } from '../../audio/child-index.js';
import { readMark } from '../voice/mark.js';
import { alignWords } from './align.js';
import type { HeardWord } from './align.js';
import { envelopeOf } from './envelope.js';
import type { Envelope } from './envelope.js';
import { glossOf, withCapitals } from './gloss.js';
import { languageOf } from './language.js';
import { recognize } from './speech-fingerprint.js';
import type { Recognized } from './speech-fingerprint.js';
import { turnsOf } from './speakers.js';
import { speechSpans } from './spans.js';
import type { Span } from './spans.js';

/** Stands for unknown words. */
const UNKNOWN = '[speech]';
const UNDETERMINED = 'und';
/** The share of known words from which a text counts as translated. */
const MOSTLY = 0.5;
/** Nobody speaks slower or faster than so many letters a second, at any speed that the voice knows. */
const SLOWEST = 1.5;
const FASTEST = 130;
/** Turns follow each other more closely than sentences. */
const TURN_PAUSE_SECONDS = 0.25;
const SHORTEST_SECONDS = 0.12;

/**
 * Listens to a recording: segments by loudness, speakers by pitch. Words are those of known speeches that are heard in it, else those that
 * the sandbox voice wrote into its sound; of any other recording none are invented.
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
  const said = whatWasSaid(task, envelope, spans);
  const turns = splitAt(
    diarization ? turnsOf(envelope, spans) : spans.map((span) => ({ ...span, speaker: null })),
    said.flatMap(({ start, end }) => [start, end]),
  );
  const language =
    task.language ?? (said.length === 0 ? UNDETERMINED : languageOf(said.map(({ text }) => text).join(' ')));
  const isForeign = translation && said.length > 0 && language !== 'en';
  const heard = wordsOf(said, turns);
  const words = isForeign ? inEnglish(heard, language) : heard;
  const segments = turns
    .map((turn, index) => segmentOf(turn, words[index] ?? null))
    .filter(({ text }) => text !== '');
  const [only] = said;
  const whole = !isForeign && only !== undefined && words.every((heard) => heard !== null);
  return {
    text:
      whole && said.length === 1
        ? only.text.replace(/\s+/g, ' ').trim()
        : segments.map(({ text }) => text).join(' '),
    segments,
    language: segments.length === 0 && task.language === null ? UNDETERMINED : language,
    durationSeconds: envelope.seconds,
  };
}

/**
 * Word by word, each at its own time; what the dictionary lacks stays as it was spoken. Where that is most of it, it is no translation: the
 * words stay as they are, and the language is named before them.
 */
function inEnglish(turns: readonly (HeardWord[] | null)[], language: string): (HeardWord[] | null)[] {
  const gloss = glossOf(language);
  const spoken = turns.flatMap((words) => (words ?? []).map(({ word }) => word));
  const shown =
    gloss.known(spoken) < MOSTLY
      ? spoken.map((word, at) => (at === 0 ? `[speech in ${language}] ${word}` : word))
      : withCapitals(spoken.map((word) => gloss.of(word)));
  let at = 0;
  return turns.map((words) => words?.map((heard) => ({ ...heard, word: shown[at++] ?? heard.word })) ?? null);
}

/** Known speeches; if none is recognised, the text that is stored in the sound file. */
function whatWasSaid(
  { bytes, known }: TranscribeTask,
  envelope: Envelope,
  spans: readonly Span[],
): Recognized[] {
  const recognized = recognize(envelope, known).filter(({ text }) => /[\p{L}\p{N}]/u.test(text));
  if (recognized.length > 0) return recognized;
  const text = textInside(bytes, spans);
  return text === null ? [] : [{ text, start: 0, end: Number.POSITIVE_INFINITY }];
}

/** The text that is stored in the sound file, unless the recording is too long or short for it. */
function textInside(bytes: Uint8Array, spans: readonly Span[]): string | null {
  const text = readMark(bytes)?.text;
  const spoken = spans.reduce((sum, { start, end }) => sum + end - start, 0);
  if (text === undefined || spoken === 0) return null;
  const rate = text.length / spoken;
  return rate >= SLOWEST && rate <= FASTEST && /[\p{L}\p{N}]/u.test(text) ? text : null;
}

interface SpokenTurn extends Span {
  speaker: number | null;
}

/** Ends a turn with its speech if the next speech follows without a pause. */
function splitAt(turns: readonly SpokenTurn[], edges: readonly number[]): SpokenTurn[] {
  return turns.flatMap((turn) => {
    const cuts = edges.filter(
      (edge) => edge > turn.start + SHORTEST_SECONDS && edge < turn.end - SHORTEST_SECONDS,
    );
    const bounds = [turn.start, ...new Set(cuts), turn.end];
    return bounds.slice(1).map((end, index) => ({ ...turn, start: bounds[index] ?? turn.start, end }));
  });
}

/** Words of each turn; null where they are not known. */
function wordsOf(said: readonly Recognized[], turns: readonly Span[]): (HeardWord[] | null)[] {
  const words: (HeardWord[] | null)[] = turns.map(() => null);
  for (const { text, start, end } of said) {
    const inside = [...turns.keys()].filter((index) => {
      const turn = turns[index];
      const middle = turn === undefined ? Number.NaN : (turn.start + turn.end) / 2;
      return middle >= start && middle < end;
    });
    const aligned = alignWords(
      text,
      inside.flatMap((index) => turns[index] ?? []),
    );
    inside.forEach((index, place) => (words[index] = aligned[place] ?? null));
  }
  return words;
}

function segmentOf(
  { start, end, speaker }: Span & { speaker: number | null },
  words: HeardWord[] | null,
): TranscriptSegment {
  const heard = words ?? [{ word: UNKNOWN, start, end }];
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
