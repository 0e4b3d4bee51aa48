import type {
  TranscriptionDiarizedSegment,
  TranscriptionStreamEvent,
} from 'openai/resources/audio/transcriptions';
import { invalid } from '../../../src/contract/errors.js';
import { withoutAsync } from '../../contract/generation.js';
import {
  MAX_UPLOAD_BYTES,
  TEXT_TYPES,
  transcriptionRoutes as contractRoutes,
  UNKNOWN_OF_SEGMENT,
} from '../../contract/transcriptions.js';
import { EXAMPLE_AUDIO } from '../../shared/openapi/examples.js';
import type { DialectCall, ReadRequest, Route, RouteAnswer } from '../../shared/route.types.js';
import { BODY_LIMITS } from '../../shared/route.types.js';
import { flagOf, picked, typedEvent, typedFields } from './fields.js';
import type { Body } from './fields.js';
import {
  TRANSCRIPT,
  TRANSCRIPT_EVENT,
  TRANSCRIPTION_BODY,
  TRANSLATION_BODY,
} from './transcriptions-schema.js';

/** Fields that mean here what they mean in the engine, the convention's and ours. */
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

/** `SPEAKER_00` is A, as the convention has it, as far as it has letters. */
function speakerOf(label: string | null): string {
  const place = Number(label?.replace(/^SPEAKER_/, '') ?? 0);
  return place < 26 ? String.fromCharCode(65 + place) : (label ?? '');
}

const diarized = ({ data }: Answer): TranscriptionDiarizedSegment[] =>
  data.segments.map(({ start, end, text, speaker }, index) => ({
    type: 'transcript.text.segment',
    id: `seg_${index}`,
    start,
    end,
    text,
    speaker: speakerOf(speaker),
  }));

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
  const segments = diarized(answer);
  return { body: { task: 'transcribe', duration, text, segments, usage }, headers: named };
}

/** A transcript as it is read: word by word, or by turns of speakers, and then all of it. */
async function* transcriptEvents(answer: Answer, { format }: Asked): AsyncGenerator<string> {
  const { text } = answer.data;
  const tell = (event: TranscriptionStreamEvent): string => typedEvent(event);
  if (format === 'diarized_json') for (const segment of diarized(answer)) yield tell(segment);
  for (const delta of text === '' ? [] : text.split(/(?<=\s)(?=\S)/))
    yield tell({ type: 'transcript.text.delta', delta });
  const { type, seconds } = usageOf(answer);
  const usage = { ...answer.usage, type, seconds } as unknown as NonNullable<
    Extract<TranscriptionStreamEvent, { type: 'transcript.text.done' }>['usage']
  >;
  yield tell({ type: 'transcript.text.done', text, usage });
}

interface Asked {
  format: Format;
  isTranslation: boolean;
}

function formatOf({ response_format: given }: Body, isTranslation: boolean): Format {
  const known = FORMATS.filter((format) => !isTranslation || format !== 'diarized_json');
  const found = known.find((format) => format === (given ?? 'json'));
  if (found === undefined)
    throw invalid(`response_format must be one of ${known.join(', ')}`, 'response_format');
  return found;
}

/** A list, of which forms of one member have only that. */
function listOf(body: Body, name: string): unknown[] | null {
  const value = body[name] ?? null;
  return value === null ? null : Array.isArray(value) ? (value as unknown[]) : [value];
}

/** What changes nothing about the answer here, and what cannot be done. @throws ApiError invalid_request */
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
    const asked = { format: formatOf(body, isTranslation), isTranslation };
    const { format } = asked;
    checkFurther(body);
    const streams = !isTranslation && flagOf(body, 'stream');
    const isText = format === 'srt' || format === 'vtt';
    if (streams && (isText || format === 'verbose_json'))
      throw invalid(`stream does not go with response_format ${format}`, 'stream');
    const granularities = isTranslation ? null : listOf(body, 'timestamp_granularities');
    const input = {
      ...picked(body, isTranslation ? OF_TRANSLATIONS : OF_TRANSCRIPTIONS),
      response_format: isText || (format === 'text' && !streams) ? format : 'json',
      ...(granularities === null ? {} : { timestamp_granularities: granularities }),
      ...(isTranslation ? { translation: true } : {}),
      ...(format === 'diarized_json' ? { diarization: true } : {}),
    };
    return {
      input,
      streams,
      whole: (answer) => wholeOf(answer as Answer, asked),
      told: (answer) => transcriptEvents(answer as Answer, asked),
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
      toldSchema: TRANSCRIPT_EVENT,
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
