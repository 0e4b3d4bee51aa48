import type {
  TranscribedSegment,
  TranscribedWord,
  Transcription,
  TranscriptionCall,
  SttModel,
} from '../stt.types.js';
import { languageCode } from './language-codes.js';
import { multipartOf } from './multipart.js';
import { keyWithout } from './optional-fields.js';
import type { LeftOut, OptionalFields, RefusedFields } from './optional-fields.js';
import { textOf } from './transport.js';
import type { Transport } from './transport.js';
import { brokenAnswer } from './upstream-errors.js';

/** These answer text alone, without times. */
const TEXT_ONLY = /gpt-4o(-mini)?-transcribe/;
const DIARIZING = /diarize/;
const EXTENSIONS: Record<string, string> = {
  'audio/mpeg': 'mp3',
  'audio/wav': 'wav',
  'audio/mp4': 'm4a',
  'audio/flac': 'flac',
  'audio/ogg': 'ogg',
  'audio/webm': 'webm',
};
type Fields = Record<string, unknown>;

/** Transcription of an upstream that speaks the common convention (`POST /audio/transcriptions`, `/audio/translations`). */
export function createOpenAiCompatibleTranscription({
  transport,
  modelId,
  refused,
}: {
  transport: Transport;
  modelId: string;
  refused: RefusedFields;
}): SttModel {
  const diarizing = DIARIZING.test(modelId);
  const timed = !TEXT_ONLY.test(modelId) && !refused.isOmitted(modelId, 'response_format');
  return {
    capabilities: {
      words: timed,
      diarization: diarizing,
      translation: timed && !diarizing,
      modelInputs: diarizing ? ['temperature'] : ['prompt', 'temperature'],
    },
    async transcribe(call) {
      const path = call.translation ? '/audio/translations' : '/audio/transcriptions';
      const text = await refused.send({ path, modelId, optional: () => optionalOf(call) }, (without) =>
        transport.postForBytes(path, formOf(call, { modelId, timed, diarizing, without }), {
          signal: call.signal,
          idempotencyKey: keyWithout(call.orders?.key, without),
        }),
      );
      return read(textOf(text), call);
    },
  };
}

/** Times and speakers are only missed where they were asked for. */
function optionalOf({ words, diarization }: TranscriptionCall): OptionalFields {
  if (words || diarization) return {};
  return {
    response_format: ['verbose_json', 'diarized_json'],
    [GRANULARITIES]: ['timestamp_granularities'],
    chunking_strategy: [],
  };
}

const GRANULARITIES = 'timestamp_granularities[]';

function formOf(
  call: TranscriptionCall,
  {
    modelId,
    timed,
    diarizing,
    without,
  }: { modelId: string; timed: boolean; diarizing: boolean; without: LeftOut },
): { bytes: Buffer; contentType: string } {
  const fields: [string, string][] = [
    ['model', modelId],
    ['response_format', diarizing && call.diarization ? 'diarized_json' : timed ? 'verbose_json' : 'json'],
    ...Object.entries(call.modelInputs).map(([name, value]): [string, string] => [name, String(value)]),
  ];
  if (call.language !== null && !call.translation) fields.push(['language', call.language]);
  if (diarizing) fields.push(['chunking_strategy', 'auto']);
  if (timed && !call.translation) {
    fields.push([GRANULARITIES, 'segment']);
    if (call.words) fields.push([GRANULARITIES, 'word']);
  }
  const isSent = (name: string): boolean =>
    // Granularities are refused without the format that has room for them.
    !without.has(name) &&
    !(name === GRANULARITIES && (without.has('response_format') || without.has('timestamp_granularities')));
  const filename = `audio.${EXTENSIONS[call.mediaType] ?? 'bin'}`;
  const sent = fields.filter(([name]) => isSent(name));
  return multipartOf(sent, [{ name: 'file', filename, contentType: call.mediaType, bytes: call.audio }]);
}

function read(text: string, call: TranscriptionCall): Transcription {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw brokenAnswer('broken JSON');
  }
  if (typeof parsed !== 'object' || parsed === null || typeof (parsed as Fields)['text'] !== 'string')
    throw brokenAnswer('no transcript');
  const answer = parsed as Fields & { text: string };
  const whole = answer.text.trim();
  const words = call.words ? wordsOf(answer['words']) : null;
  const listed = fieldsIn(answer['segments']);
  const speakers = new Map<string, string>();
  const shares = words === null ? null : sharesOf(words, listed);
  const segments = listed.map((segment, index): TranscribedSegment => {
    const { start, end, text: said, speaker } = segment;
    return {
      start: Number(start ?? 0),
      end: Number(end ?? 0),
      text: textIn(said).trim(),
      speaker: call.diarization && typeof speaker === 'string' ? labelOf(speaker, speakers) : null,
      // Some tell the words of each segment in it.
      words: shares?.[index] ?? (call.words ? wordsOf(segment['words']) : null),
    };
  });
  const only: TranscribedSegment = { start: 0, end: call.durationSeconds, text: whole, speaker: null, words };
  return {
    text: whole,
    segments: segments.length > 0 ? segments : whole === '' ? [] : [only],
    language: languageOf(answer['language'], call),
  };
}

function languageOf(said: unknown, call: TranscriptionCall): string {
  if (typeof said !== 'string' || said === '') return call.language ?? 'und';
  // Of a translation some say that it is English, which the source is not.
  if (call.translation && call.language !== null) return call.language;
  return languageCode(said);
}

const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');

function fieldsIn(list: unknown): Fields[] {
  return Array.isArray(list)
    ? list.filter((item): item is Fields => typeof item === 'object' && item !== null)
    : [];
}

function wordsOf(words: unknown): TranscribedWord[] | null {
  if (!Array.isArray(words)) return null;
  return fieldsIn(words).map(({ word, start, end }) => ({
    word: textIn(word),
    start: Number(start ?? 0),
    end: Number(end ?? 0),
  }));
}

/** Further than this a word's next place in a text is another one of the same letters. */
const NEAR_CHARACTERS = 60;

interface Span {
  from: number;
  to: number;
  text: string;
  /** Up to where its text is told by words. */
  told: number;
}

/** How many characters of its text lie before the word's next place; null where it does not come soon. */
function aheadIn({ text, told }: Span, word: string): number | null {
  const at = text.indexOf(word, told);
  return at < 0 || at - told > NEAR_CHARACTERS ? null : at - told;
}

/** Of segments that hold a word's middle, the one in whose text it comes next, else the last. */
function saidIn(spans: Span[], word: string): Span | undefined {
  let [found, least] = [spans.at(-1), Infinity];
  for (const span of spans) {
    const ahead = aheadIn(span, word) ?? Infinity;
    if (ahead < least) [found, least] = [span, ahead];
  }
  return found;
}

/**
 * The words of each segment. A word belongs to the segment in which its middle lies, else to the nearest one: an upstream's words and
 * segments are timed apart, and no word may fall between. Where people speak at once the segments' texts tell whose it is.
 */
function sharesOf(words: TranscribedWord[], segments: Fields[]): TranscribedWord[][] {
  const spans = segments.map(({ start, end, text }): Span => {
    return { from: Number(start ?? 0), to: Number(end ?? 0), text: textIn(text).toLowerCase(), told: 0 };
  });
  const shares = new Map(spans.map((span) => [span, [] as TranscribedWord[]]));
  for (const word of words) {
    const middle = (word.start + word.end) / 2;
    let nearest: Span[] = [];
    let least = Infinity;
    for (const span of spans) {
      const distance = Math.max(span.from - middle, middle - span.to, 0);
      if (distance < least) nearest = [];
      if (distance <= least) nearest.push(span);
      least = Math.min(distance, least);
    }
    const said = word.word.trim().toLowerCase();
    const span = saidIn(nearest, said);
    if (span === undefined) continue;
    shares.get(span)?.push(word);
    span.told += (aheadIn(span, said) ?? -said.length) + said.length;
  }
  return [...shares.values()];
}

function labelOf(speaker: string, speakers: Map<string, string>): string {
  const known = speakers.get(speaker);
  if (known !== undefined) return known;
  const label = `SPEAKER_${String(speakers.size).padStart(2, '0')}`;
  speakers.set(speaker, label);
  return label;
}
