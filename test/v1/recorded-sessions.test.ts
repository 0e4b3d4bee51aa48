import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { FakeUpstream } from '../support/fake-upstream.js';
import type { RecordedRequest, RecordedSession } from '../support/recording.js';
import { scriptedModel } from '../support/scripted-model.js';
import type { TestServer } from '../support/server.js';
import { startBothForms, type BothForms } from './both-forms.js';

/** What Codex and Claude Code sent in real sessions (`test/faults/clients.test.ts` records them), sent again without them. */

const FOLDER = fileURLToPath(new URL('../support/fixtures/sessions', import.meta.url));
const sessions = readdirSync(FOLDER).map(
  (file) => JSON.parse(readFileSync(`${FOLDER}/${file}`, 'utf8')) as RecordedSession,
);

let world: BothForms;
let server: TestServer;
let upstream: FakeUpstream;
let key: string;

beforeAll(async () => {
  world = await startBothForms({ model: { contextWindow: 200_000 }, provider: {} });
  ({ server, upstream } = world);
  upstream.always(
    scriptedModel([
      { name: 'exec_command', args: { cmd: 'ls' } },
      { name: 'Bash', args: { command: 'ls' } },
    ]),
  );
  ({ key } = await server.createOrg());
});
afterAll(() => world?.close());
beforeEach(() => {
  upstream.requests.length = 0;
});

type Fields = Record<string, unknown>;

interface Answered {
  status: number;
  /** The types of its events, in order. */
  types: string[];
  events: Fields[];
  body: string;
}

async function again({ method, path, headers, body }: RecordedRequest, model: string): Promise<Answered> {
  const isAsk = typeof body === 'object' && body !== null && 'model' in body;
  const sent = isAsk ? { ...body, model } : body;
  const response = await server.raw(path, {
    method: method as 'POST',
    headers: { ...headers, authorization: `Bearer ${key}` },
    ...(typeof sent === 'object' ? { body: JSON.stringify(sent) } : {}),
  });
  const text = await response.body.text();
  const events = text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)) as Fields);
  return { status: response.statusCode, events, types: events.map(({ type }) => String(type)), body: text };
}

const isCall = ({ path }: RecordedRequest): boolean => /^\/v1\/(?:responses|messages)(?:\?|$)/.test(path);
/** What the session's tool said, where the request says it. */
const toolWords = /high-tide/;

describe.each(sessions.map((session) => ({ client: session.client, session })))(
  'a session of $client',
  ({ session }) => {
    const calls = session.requests.filter(isCall);
    const asked = (request: RecordedRequest) => request.body as { stream?: boolean; tools?: unknown[] };

    it('holds a call of a tool and what the tool said', () => {
      expect(calls.some((request) => (asked(request).tools ?? []).length > 0)).toBe(true);
      expect(calls.some((request) => toolWords.test(JSON.stringify(request.body)))).toBe(true);
      expect(JSON.stringify(session)).not.toMatch(/sk_[0-9a-f]{16}|\/tmp\/|\/root\//);
    });

    it.each(['acme/chat', 'nat/chat'])('is answered by %s to its end, request by request', async (model) => {
      for (const request of session.requests.filter(({ path }) => path.startsWith('/v1/'))) {
        const answer = await again(request, model);
        expect([request.path, answer.status, answer.body.slice(0, 300)]).toEqual([
          request.path,
          200,
          expect.anything(),
        ]);
        if (!isCall(request) || asked(request).stream !== true) continue;
        const isMessages = request.path.startsWith('/v1/messages');
        expect(answer.types[0]).toBe(isMessages ? 'message_start' : 'response.created');
        expect(answer.types.at(-1)).toBe(isMessages ? 'message_stop' : 'response.completed');
        if (!isMessages)
          expect(answer.events.map((event) => event['sequence_number'])).toEqual(
            answer.events.map((_, at) => at),
          );
        const got = upstream.requests.at(-1)!;
        const wasGiven = toolWords.test(JSON.stringify(request.body));
        expect(toolWords.test(JSON.stringify(got.body))).toBe(wasGiven);
        // The script calls a tool where it is offered one, and tells what the tool said.
        if (wasGiven) expect(answer.body).toMatch(toolWords);
        else if ((asked(request).tools ?? []).length > 0)
          expect(answer.body).toMatch(isMessages ? /"type":"tool_use"/ : /"type":"function_call"/);
      }
      expect(upstream.requests.length).toBeGreaterThanOrEqual(calls.length);
    });
  },
);
