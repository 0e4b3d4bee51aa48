import { reportedTokens } from '../convention/usage.js';
import type {
  TranscribedSegment,
  TranscribedWord,
  Transcription,
  TranscriptionCall,
  SttModel,
} from '../stt.types.js';
import type { TimeSlicer } from '../../collections/time-slicer.js';
import { readTranscriptEvents } from './transcript-events.js';
import type { TranscriptEvents } from './transcript-events.js';
import { languageCode } from './language-codes.js';
import { multipartOf } from './multipart.js';
import { keyWithout } from './optional-fields.js';
import type { LeftOut, OptionalFields, RefusedFields } from './optional-fields.js';
import type { Transport } from './transport.js';
import { brokenAnswer } from './upstream-errors.js';
import { sharesOf } from './word-shares.js';

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
      const speakers = new Map<string, string>();
      const labelled = (speaker: unknown): string | null =>
        call.diarization && typeof speaker === 'string' ? labelOf(speaker, speakers) : null;
      const reported = call.onTranscriptPart !== undefined && canStream(modelId, call);
      let events: TranscriptEvents | null = null;
      const bytes = await refused.send({ path, modelId, optional: () => optionalOf(call) }, (without) => {
        const streams = reported && !without.has('stream');
        events =
          streams && call.onTranscriptPart ? readTranscriptEvents(call.onTranscriptPart, labelled) : null;
        const form = formOf(call, { modelId, timed: timed && !streams, diarizing, streams, without });
        return transport.postForBytes(path, form, {
          signal: call.signal,
          idempotencyKey: keyWithout(call.orders?.key, without),
          onBytes: events?.push,
        });
      });
      const streamed = (events as TranscriptEvents | null)?.end() ?? null;
      const answer = streamed ?? (await transport.readAnswer(bytes));
      return await read(answer, call, { labelled, timeSlicer: transport.timeSlicer });
    },
  };
}

/** Whether a transcription can be streamed: not with times or translation, nor by a model that is known not to stream. */
function canStream(modelId: string, { words, translation }: TranscriptionCall): boolean {
  return !words && !translation && !/(^|\/)whisper-1$/.test(modelId);
}

/** Times and speakers are only missed where they were asked for. */
function optionalOf({ words, diarization }: TranscriptionCall): OptionalFields {
  const streamFields = { stream: UNSTREAMED, [INCLUDE]: ['include', 'logprobs'] };
  if (words || diarization) return streamFields;
  return {
    ...streamFields,
    response_format: ['verbose_json', 'diarized_json'],
    [GRANULARITIES]: ['timestamp_granularities'],
    chunking_strategy: [],
  };
}

/** How upstreams say that they do not stream. */
const UNSTREAMED = ['stream is', 'streaming is', 'streaming not', 'support stream', 'support streaming'];
const GRANULARITIES = 'timestamp_granularities[]';
const INCLUDE = 'include[]';

function formOf(
  call: TranscriptionCall,
  {
    modelId,
    timed,
    diarizing,
    streams,
    without,
  }: { modelId: string; timed: boolean; diarizing: boolean; streams: boolean; without: LeftOut },
): { bytes: Buffer; contentType: string } {
  const fields: [string, string][] = [
    ['model', modelId],
    ['response_format', diarizing && call.diarization ? 'diarized_json' : timed ? 'verbose_json' : 'json'],
    ...Object.entries(call.modelInputs).map(([name, value]): [string, string] => [name, String(value)]),
  ];
  if (call.language !== null && !call.translation) fields.push(['language', call.language]);
  if (diarizing) fields.push(['chunking_strategy', 'auto']);
  if (streams) fields.push(['stream', 'true']);
  if (streams && call.logprobs === true && !diarizing) fields.push([INCLUDE, 'logprobs']);
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

async function read(
  parsed: unknown,
  call: TranscriptionCall,
  { labelled, timeSlicer }: { labelled(speaker: unknown): string | null; timeSlicer: TimeSlicer },
): Promise<Transcription> {
  if (typeof parsed !== 'object' || parsed === null || typeof (parsed as Fields)['text'] !== 'string')
    throw brokenAnswer('no transcript');
  const answer = parsed as Fields & { text: string };
  const whole = answer.text.trim();
  const listed = fieldsIn(answer['segments']);
  checkCount([answer['words'], listed, ...listed.map((segment) => segment['words'])], call);
  const words = call.words ? await wordsOf(answer['words'], timeSlicer) : null;
  const shares = words === null ? null : await sharesOf(words, listed, timeSlicer);
  // Some providers put the words into each segment.
  const own = call.words && shares === null ? await ownWords(listed, timeSlicer) : null;
  const segments = await timeSlicer.map(listed, (segment, index): TranscribedSegment => {
    const { start, end, text: said, speaker } = segment;
    return {
      start: Number(start ?? 0),
      end: Number(end ?? 0),
      text: textIn(said).trim(),
      speaker: labelled(speaker),
      words: (shares ?? own)?.[index] ?? null,
    };
  });
  const only: TranscribedSegment = { start: 0, end: call.durationSeconds, text: whole, speaker: null, words };
  return {
    text: whole,
    segments: segments.length > 0 ? segments : whole === '' ? [] : [only],
    language: languageOf(answer['language'], call),
    ...reportedTokens(answer),
  };
}

/** The maximum of words or segments: more a second than anybody speaks, and a constant. */
const MAX_A_SECOND = 20;
const MAX_BESIDES = 3000;

/** @throws UpstreamError for more than the sound can hold: subtitles, and an answer, would be made of all of it */
function checkCount(lists: unknown[], { durationSeconds }: TranscriptionCall): void {
  let count = 0;
  for (const list of lists) if (Array.isArray(list)) count = count + list.length;
  if (count > 2 * (MAX_BESIDES + MAX_A_SECOND * durationSeconds))
    throw brokenAnswer('more words than the sound can hold');
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

async function wordsOf(words: unknown, timeSlicer: TimeSlicer): Promise<TranscribedWord[] | null> {
  if (!Array.isArray(words)) return null;
  return await timeSlicer.map(fieldsIn(words), ({ word, start, end }) => ({
    word: textIn(word),
    start: Number(start ?? 0),
    end: Number(end ?? 0),
  }));
}

async function ownWords(segments: Fields[], timeSlicer: TimeSlicer): Promise<(TranscribedWord[] | null)[]> {
  const words: (TranscribedWord[] | null)[] = [];
  for (const segment of segments) words.push(await wordsOf(segment['words'], timeSlicer));
  return words;
}

function labelOf(speaker: string, speakers: Map<string, string>): string {
  const known = speakers.get(speaker);
  if (known !== undefined) return known;
  const label = `SPEAKER_${String(speakers.size).padStart(2, '0')}`;
  speakers.set(speaker, label);
  return label;
}
