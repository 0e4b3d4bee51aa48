import Negotiator from 'negotiator';
import type { RespondRequest, Route, RouteAnswer } from '../route.types.js';
import { BODY_LIMITS } from '../route.types.js';
import { SPEECH_FORMS } from '../openapi/variants.js';
import { describeFlatGeneration, flatAnswer } from './generation.js';

const CONTENT_TYPES: Record<string, string> = {
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  opus: 'audio/ogg',
  aac: 'audio/aac',
};

/** Whether a caller wants the sound itself: where `Accept` names audio or plain bytes and nothing else. */
function wantsBytes(accept: string | undefined): boolean {
  const types = new Negotiator({ headers: { accept: accept?.toLowerCase() } }).mediaTypes();
  return (
    types.length > 0 &&
    types.every((type) => type.startsWith('audio/') || type === 'application/octet-stream')
  );
}

async function speechAnswer(body: Record<string, unknown>, request: RespondRequest): Promise<RouteAnswer> {
  const answer = flatAnswer(body);
  const url = (body['data'] as { audio_url: string } | null)?.audio_url;
  if (url === undefined || !wantsBytes(request.accept)) return answer;
  const extension = new URL(url).pathname.split('.').pop() ?? '';
  const type = CONTENT_TYPES[extension] ?? 'application/octet-stream';
  return { body: await request.readFile(url), headers: { ...answer.headers, 'content-type': type } };
}

export const speechRoutes: Route[] = [
  {
    method: 'POST',
    path: '/audio/speech',
    operationId: 'createSpeech',
    tag: 'Audio',
    summary: 'Say a text',
    description:
      'With `?async=true` the answer is the job that says it. With `Accept: audio/*` or `application/octet-stream` alone the answer is the sound itself.',
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
    parameters: { async: { description: 'True answers at once with the job.' } },
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
