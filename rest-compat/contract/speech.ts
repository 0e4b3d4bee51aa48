import type { RespondRequest, Route, RouteAnswer } from '../shared/route.types.js';
import { BODY_LIMITS } from '../shared/route.types.js';
import { SPEECH_FORMS } from '../shared/openapi/variants.js';
import { describeFlatGeneration, flatAnswer } from './generation.js';

const CONTENT_TYPES: Record<string, string> = {
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  opus: 'audio/ogg',
  aac: 'audio/aac',
};

const JSON_TYPE = 'application/json';
const BYTES = 'application/octet-stream';

interface ToolRequest {
  type: string;
  weight: number;
}

function wishesOf(accept: string): ToolRequest[] {
  return accept.split(',').map((part) => {
    const [type = '', ...parameters] = part.split(';').map((word) => word.trim().toLowerCase());
    const weight = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1);
    return { type, weight: weight >= 0 && weight <= 1 ? weight : 0 };
  });
}

/** The weight of the most specific range in `Accept` that matches a type. */
function weightOf(type: string, wishes: readonly ToolRequest[]): number {
  const forms = [type, `${type.split('/', 1)[0]}/*`, '*/*'];
  const closest = forms.map((form) => wishes.find((wish) => wish.type === form)).find(Boolean);
  return closest?.weight ?? 0;
}

/**
 * Whether a caller prefers the sound itself to JSON, by the weights of `Accept`. `application/octet-stream` and every audio type
 * mean the sound, because no other answer is closer. Without a preference the answer is JSON.
 */
function wantsBytes(accept: string | undefined, type: string): boolean {
  if (accept === undefined) return false;
  const wishes = wishesOf(accept);
  const sounds = wishes.filter((wish) => wish.type.startsWith('audio/')).map(({ weight }) => weight);
  return Math.max(weightOf(type, wishes), weightOf(BYTES, wishes), ...sounds) > weightOf(JSON_TYPE, wishes);
}

async function speechAnswer(body: Record<string, unknown>, request: RespondRequest): Promise<RouteAnswer> {
  const answer = flatAnswer(body);
  const url = (body['data'] as { audio_url: string } | null)?.audio_url;
  if (url === undefined) return answer;
  const extension = new URL(url).pathname.split('.').pop() ?? '';
  const type = CONTENT_TYPES[extension] ?? BYTES;
  if (!wantsBytes(request.accept, type)) return answer;
  return { body: await request.readFile(url), headers: { ...answer.headers, 'content-type': type } };
}

export const speechRoutes: Route[] = [
  {
    method: 'POST',
    path: '/audio/speech',
    operationId: 'createSpeech',
    tag: 'Audio',
    summary: 'Speak a text',
    description:
      'With `?async=true` the answer is the job that speaks it. Where `Accept` prefers `audio/*` or `application/octet-stream` to JSON, the answer is the sound itself.',
    document: `mutation ($input: CreateSpeechInput!, $async: Boolean = false) {
      body: createSpeech(input: $input, async: $async) {
        job { id status estimated_credits: estimatedCredits }
        created
        data { audio_url: audioUrl duration_seconds: durationSeconds character_count: characterCount }
        model
        model_tier: modelTier
        usage { chars_used: charsUsed quota_multiplier: quotaMultiplier chars_remaining: charsRemaining }
      }
    }`,
    parameters: { async: { description: 'True: the answer is the job, at once.' } },
    body: {
      limitBytes: BODY_LIMITS.large,
      rules: SPEECH_FORMS,
      example: { input: 'Hello, this is Penstock.', voice: 'nova', response_format: 'mp3' },
    },
    respond: speechAnswer,
    alsoAnswers: ['audio/mpeg', 'audio/wav', 'audio/ogg', 'audio/aac'],
    describe: describeFlatGeneration,
    schemaName: 'Speech',
  },
];
