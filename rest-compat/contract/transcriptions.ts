import type { RespondRequest, Route, RouteAnswer } from '../shared/route.types.js';
import { BODY_LIMITS } from '../shared/route.types.js';
import { EXAMPLE_AUDIO } from '../shared/openapi/examples.js';
import { headerReference } from '../shared/openapi/errors.js';
import { withOptional } from '../shared/openapi/json-schema.js';
import { describeFlatGeneration, flatAnswer } from './generation.js';

export const MAX_UPLOAD_BYTES = 25 * 1024 * 1024;
export const TEXT_TYPES: Record<string, string> = {
  text: 'text/plain; charset=utf-8',
  srt: 'application/x-subrip; charset=utf-8',
  vtt: 'text/vtt; charset=utf-8',
};

interface Segment {
  words?: unknown[] | null;
}

interface Answer {
  data: {
    content: string | null;
    response_format: string | null;
    segments: Segment[];
  } | null;
  usage: object;
}

/** Further fields of a segment in the convention's `verbose_json`, which its typed clients require. Penstock does not know their values. */
export const UNKNOWN_OF_SEGMENT = {
  seek: 0,
  tokens: [],
  temperature: 0,
  avg_logprob: 0,
  compression_ratio: 1,
  no_speech_prob: 0,
};

/** The answer's fields in the convention's `verbose_json`, in addition to the contract's. */
function inConvention(segments: Segment[]): Record<string, unknown> {
  const words = segments.flatMap((segment) => segment.words ?? []);
  return {
    task: 'transcribe',
    ...(segments.some((segment) => segment.words) ? { words } : {}),
    segments: segments.map((segment, id) => ({ id, ...UNKNOWN_OF_SEGMENT, ...segment })),
  };
}

/** Text, SRT and VTT are the whole body; the usage is JSON in `X-Usage` (decisions 6, "Generations"). */
function transcriptionAnswer(
  body: Record<string, unknown>,
  { requestFields, isForm }: Pick<RespondRequest, 'requestFields' | 'isForm'>,
): RouteAnswer {
  const { data, usage } = body as unknown as Answer;
  if (data === null) return flatAnswer(body);
  const { content, response_format: format, ...shown } = data;
  if (content !== null) {
    const type = TEXT_TYPES[format ?? 'text'] ?? 'text/plain; charset=utf-8';
    const { headers } = flatAnswer(body);
    return {
      body: Buffer.from(content, 'utf8'),
      headers: { ...headers, 'content-type': type, 'x-usage': JSON.stringify(usage) },
    };
  }
  for (const segment of shown.segments) if (segment.words === null) delete segment.words;
  const further =
    isForm || requestFields['response_format'] === 'verbose_json' ? inConvention(shown.segments) : {};
  return flatAnswer({ ...body, data: { ...shown, ...further } });
}

export const transcriptionRoutes: Route[] = [
  {
    method: 'POST',
    path: '/audio/transcriptions',
    operationId: 'createTranscription',
    tag: 'Audio',
    summary: 'Transcribe a recording',
    description:
      'With `?async=true` the answer is the job that does it. With `response_format` text, srt or vtt the answer is that text, and the header `X-Usage` has the usage as JSON. Where the request is a form, or asks for `verbose_json`, the answer has the further fields that clients of the chat-completions convention want: `task`, `words`, and `id`, `seek` and the like in segments.',
    document: `mutation ($input: CreateTranscriptionInput!, $async: Boolean = false) {
      body: createTranscription(input: $input, async: $async) {
        job { id status estimated_credits: estimatedCredits }
        created
        data {
          text segments { start end text speaker words { word start end } } language duration
          response_format: responseFormat content
        }
        model
        model_tier: modelTier
        usage { seconds_used: secondsUsed quota_multiplier: quotaMultiplier seconds_remaining: secondsRemaining }
      }
    }`,
    parameters: { async: { description: 'True: the answer is the job, at once.' } },
    body: {
      limitBytes: BODY_LIMITS.large,
      example: { file: EXAMPLE_AUDIO, diarization: true },
    },
    upload: { field: 'file', limit: MAX_UPLOAD_BYTES, accepts: 'audio/*, video/webm, video/mp4' },
    respond: transcriptionAnswer,
    alsoAnswers: ['text/plain', 'application/x-subrip', 'text/vtt'],
    describe: (schema) =>
      withOptional(describeFlatGeneration(schema, ['response_format', 'content']), ['words']),
    headers: { 'X-Usage': headerReference('Usage') },
    schemaName: 'Transcription',
  },
];
