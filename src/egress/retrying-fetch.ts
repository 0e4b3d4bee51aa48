import { setTimeout as sleep } from 'node:timers/promises';
import { fetch } from 'undici';
import { createOperatorAgent } from './guarded-agent.js';

const TRIES = 3;
/** The file has been made and paid for, so waiting about ten seconds for it is worthwhile. */
const TRIES_TO_STORE = 6;
const FIRST_WAIT_MS = 200;
const HEADERS_TIMEOUT_MS = 30_000;
/** Somebody who accepts a request and says nothing has been waited for long enough already. */
const SILENCE = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

function isSilence(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && SILENCE.has((cause as NodeJS.ErrnoException).code ?? '');
}

/**
 * `fetch` for a library that takes one, to a service in the operator's own configuration whose requests may all be repeated (an object
 * store). A connection that fails, 429 and 5xx are tried three times in all, a PUT six times, with growing waits. Limits: connect 5 s, first byte 30 s, 60 s
 * between parts of a body. Bodies are whole ones (bytes, text, a Blob): a stream could be sent only once.
 */
export function createRetryingFetch(headersTimeoutMs: number = HEADERS_TIMEOUT_MS): typeof globalThis.fetch {
  const dispatcher = createOperatorAgent({ headersTimeoutMs });
  const once = async (input: unknown, init: object | undefined): Promise<Response> =>
    (await fetch(input as string, { ...init, dispatcher })) as unknown as Response;
  return async (input, init) => {
    const tries = init?.method === 'PUT' ? TRIES_TO_STORE : TRIES;
    for (let tried = 1; tried < tries; tried++) {
      try {
        const answer = await once(input, init);
        if (answer.status !== 429 && answer.status < 500) return answer;
        await answer.body?.cancel();
      } catch (error) {
        if (isSilence(error)) throw error;
      }
      await sleep(FIRST_WAIT_MS * 2 ** (tried - 1) * (1 + Math.random()));
    }
    return await once(input, init);
  };
}
