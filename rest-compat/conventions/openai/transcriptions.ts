import type {
  TranscriptionDiarizedSegment,
  TranscriptionStreamEvent,
  TranscriptionTextDoneEvent,
} from 'openai/resources/audio/transcriptions';
import { decodeTranscriptParts, wordsOf } from '../../../src/contract/live.js';
import type { TranscriptPart } from '../../../src/contract/live.js';
import { invalid } from '../../../src/contract/errors.js';
import { withoutAsync } from '../../contract/generation.js';
import {
  MAX_UPLOAD_BYTES,
  TEXT_TYPES,
  transcriptionRoutes as contractRoutes,
  UNKNOWN_OF_SEGMENT,
} from '../../contract/transcriptions.js';
import { EXAMPLE_AUDIO } from '../../shared/openapi/examples.js';
import type { DialectCall, LiveForm, ReadRequest, Route, RouteAnswer } from '../../shared/route.types.js';
import { BODY_LIMITS } from '../../shared/route.types.js';
import { readFlag, pickFields, typedEvent, typedFields } from './fields.js';
import type { Body } from './fields.js';
import {
  TRANSCRIPT,
  TRANSCRIPT_EVENT,
  TRANSCRIPTION_BODY,
  TRANSLATION_BODY,
} from './transcriptions-schema.js';

/** Fields of the convention and of Penstock that the engine reads unchanged. */
const OF_TRANSLATIONS = ['model', 'file', 'prompt', 'temperature', 'model_inputs'];
const OF_TRANSCRIPTIONS = [...OF_TRANSLATIONS, 'language', 'diarization'];
const UNDOABLE = ['known_speaker_names', 'known_speaker_references'];

const FORMATS = ['json', 'text', 'srt', 'verbose_json', 'vtt', 'diarized_json'] as const;
type Format = (typeof FORMATS)[number];

interface Segment {
  start: number;
  end: number;
  text: string;
  speaker: string | null;
  words?: { word: string; start: number; end: number }[] | null;
}

interface Answer {
  job: { id: string };
  data: {
    text: string;
    segments: Segment[];
    language: string;
    duration: number;
    content: string | null;
  };
  usage: Record<string, unknown>;
}

const usageOf = ({ data, usage }: Answer) => ({
  type: 'duration' as const,
  seconds: Math.ceil(data.duration),
  ...usage,
});

/** `SPEAKER_00` becomes A, as in the convention, for the first 26 speakers. */
function speakerOf(label: string | null): string {
  const place = Number(label?.replace(/^SPEAKER_/, '') ?? 0);
  return place < 26 ? String.fromCharCode(65 + place) : (label ?? '');
}

const diarizedSegment = (
  { start, end, text, speaker }: Segment,
  index: number,
): TranscriptionDiarizedSegment => ({
  type: 'transcript.text.segment',
  id: `seg_${index}`,
  start,
  end,
  text,
  speaker: speakerOf(speaker),
});

function verbose({ data }: Answer, isTranslation: boolean): Body {
  const { text, segments, duration } = data;
  const isWorded = segments.some(({ words }) => words != null);
  return {
    task: isTranslation ? 'translate' : 'transcribe',
    language: isTranslation ? 'en' : data.language,
    duration,
    text,
    segments: segments.map(({ words: _, speaker, ...segment }, id) => ({
      id,
      ...UNKNOWN_OF_SEGMENT,
      ...segment,
      ...(speaker === null ? {} : { speaker }),
    })),
    ...(isWorded ? { words: segments.flatMap(({ words }) => words ?? []) } : {}),
  };
}

function wholeOf(answer: Answer, { format, isTranslation }: Asked): RouteAnswer {
  const { job, data } = answer;
  const usage = usageOf(answer);
  const named = { 'x-job-id': job.id };
  if (data.content !== null) {
    const type = TEXT_TYPES[format] ?? 'text/plain; charset=utf-8';
    const headers = { ...named, 'content-type': type, 'x-usage': JSON.stringify(usage) };
    return { body: Buffer.from(data.content, 'utf8'), headers };
  }
  const { text, duration } = data;
  if (format === 'verbose_json')
    return { body: { ...verbose(answer, isTranslation), usage }, headers: named };
  if (format !== 'diarized_json') return { body: { text, usage }, headers: named };
  const segments = data.segments.map(diarizedSegment);
  return { body: { task: 'transcribe', duration, text, segments, usage }, headers: named };
}

type Logprobs = TranscriptionTextDoneEvent['logprobs'];

/** Streams a transcript: first its words, with the speakers' turns if requested, then the complete text. */
function asEvents({ format, logprobs }: Asked): LiveForm<string> {
  let said = '';
  let segments = 0;
  const sure: NonNullable<Logprobs> = [];
  const tell = (event: TranscriptionStreamEvent): string => typedEvent(event);
  const delta = (text: string): string => tell({ type: 'transcript.text.delta', delta: text });
  const turn = (segment: Segment): string =>
    format === 'diarized_json' ? tell(diarizedSegment(segment, segments++)) : '';
  const written = (part: TranscriptPart): string => {
    if ('segment' in part) return turn(part.segment);
    said += part.delta;
    if (!logprobs || part.logprobs === undefined) return delta(part.delta);
    sure.push(...part.logprobs);
    return tell({ type: 'transcript.text.delta', delta: part.delta, logprobs: part.logprobs });
  };
  return {
    liveOptions: { logprobs },
    part: (bytes) => decodeTranscriptParts(bytes).map(written).join(''),
    async *rest(given) {
      const answer = given as Answer;
      const { text } = answer.data;
      if (segments === 0) yield* answer.data.segments.map(turn).filter((event) => event !== '');
      yield* wordsOf(leftOf(text, said)).map(delta);
      const usage = usageOf(answer) as unknown as NonNullable<TranscriptionTextDoneEvent['usage']>;
      const more = sure.length > 0 ? { logprobs: sure } : {};
      yield tell({ type: 'transcript.text.done', text, usage, ...more });
    },
  };
}

/** The part of a text that was not sent yet. Nothing if the sent part differs, because the end repeats the complete text. */
function leftOf(text: string, said: string): string {
  const begun = said.trimStart();
  return text.startsWith(begun) ? text.slice(begun.length) : '';
}

interface Asked {
  format: Format;
  logprobs: boolean;
  isTranslation: boolean;
}

function formatOf({ response_format: given }: Body, isTranslation: boolean): Format {
  const known = FORMATS.filter((format) => !isTranslation || format !== 'diarized_json');
  const found = known.find((format) => format === (given ?? 'json'));
  if (found === undefined)
    throw invalid(`response_format must be one of ${known.join(', ')}`, 'response_format');
  return found;
}

/** A list. A form with one member has only the member. */
function listOf(body: Body, name: string): unknown[] | null {
  const value = body[name] ?? null;
  return value === null ? null : Array.isArray(value) ? (value as unknown[]) : [value];
}

/** Checks the parameters that have no effect here, and those that are not supported. @throws ApiError invalid_request */
function checkFurther(body: Body): void {
  const wrong = listOf(body, 'include')?.find((word) => word !== 'logprobs');
  if (wrong !== undefined) throw invalid('include must be a list of logprobs', 'include');
  const { chunking_strategy: strategy } = body;
  const isKnown =
    strategy == null || strategy === 'auto' || (typeof strategy === 'object' && !Array.isArray(strategy));
  if (!isKnown) throw invalid('chunking_strategy must be auto or an object', 'chunking_strategy');
  for (const name of UNDOABLE) if (body[name] != null) throw invalid(`${name} is not supported`, name);
}

const TYPED = { numbers: ['temperature'], flags: ['stream', 'diarization'], objects: ['chunking_strategy'] };

function reader(isTranslation: boolean) {
  return (sent: Body, request: ReadRequest): DialectCall => {
    const body = typedFields(sent, request, TYPED);
    const logprobs = listOf(body, 'include')?.includes('logprobs') ?? false;
    const requested = { format: formatOf(body, isTranslation), isTranslation, logprobs };
    const { format } = requested;
    checkFurther(body);
    const streams = !isTranslation && readFlag(body, 'stream');
    const isText = format === 'srt' || format === 'vtt';
    if (streams && (isText || format === 'verbose_json'))
      throw invalid(`stream does not go with response_format ${format}`, 'stream');
    const granularities = isTranslation ? null : listOf(body, 'timestamp_granularities');
    const input = {
      ...pickFields(body, isTranslation ? OF_TRANSLATIONS : OF_TRANSCRIPTIONS),
      response_format: isText || (format === 'text' && !streams) ? format : 'json',
      ...(granularities === null ? {} : { timestamp_granularities: granularities }),
      ...(isTranslation ? { translation: true } : {}),
      ...(format === 'diarized_json' ? { diarization: true } : {}),
    };
    return {
      input,
      streams,
      whole: (answer) => wholeOf(answer as Answer, requested),
      answerEvents: () => asEvents(requested),
    };
  };
}

const ACCEPTS = 'audio/*, video/webm, video/mp4';

export const transcriptionRoutes: readonly Route[] = contractRoutes.flatMap(({ document }) => {
  const shared = {
    method: 'POST',
    tag: 'Audio',
    document: withoutAsync(document),
    dialect: 'media',
    upload: { field: 'file', limit: MAX_UPLOAD_BYTES, accepts: ACCEPTS },
    alsoAnswers: ['text/plain', 'application/x-subrip', 'text/vtt'],
    describe: () => TRANSCRIPT,
  } as const;
  const body = { limitBytes: BODY_LIMITS.large, open: true };
  return [
    {
      ...shared,
      path: '/audio/transcriptions',
      operationId: 'createTranscription',
      summary: 'Transcribe a recording',
      description: 'With `response_format` text, srt or vtt the answer is that text.',
      read: reader(false),
      body: { ...body, schema: TRANSCRIPTION_BODY, example: { file: EXAMPLE_AUDIO } },
      answerEventSchema: TRANSCRIPT_EVENT,
      schemaName: 'TranscriptionResponse',
    },
    {
      ...shared,
      path: '/audio/translations',
      operationId: 'createTranslation',
      summary: 'Transcribe a recording in English',
      read: reader(true),
      body: { ...body, schema: TRANSLATION_BODY, example: { file: EXAMPLE_AUDIO } },
      schemaName: 'TranslationResponse',
    },
  ];
});
