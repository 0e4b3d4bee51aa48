import type { RestOptions } from './client.js';
import type { TestServer } from './server.js';

/** An event of a run's stream (contract 6.2). */
export interface StreamedRunEvent extends Record<string, unknown> {
  type: 'start' | 'step' | 'done' | 'error';
  run_id?: string;
  session_id?: string;
  step?: {
    step_number: number;
    type: string;
    content?: string;
    tool?: string;
    tool_input?: Record<string, unknown>;
    tool_output?: Record<string, unknown>;
  };
  output?: string;
  credits_used?: number;
  tokens_used?: number;
  error?: string;
}

/** The events of a run's stream, read to its end. */
export interface FinishedRun {
  runId: string;
  ids: number[];
  events: StreamedRunEvent[];
  steps: NonNullable<StreamedRunEvent['step']>[];
  last: StreamedRunEvent;
}

/** Creates an agent. @throws Error with any other answer */
export async function makeAgent(
  server: Pick<TestServer, 'rest'>,
  key: string,
  body: Record<string, unknown> = {},
): Promise<string> {
  const given = { name: 'Tester', system_prompt: 'You help with tests.', ...body };
  const answer = await server.rest<{ agent?: { id: string } }>('POST', '/agents', { key, body: given });
  if (answer.body.agent === undefined) throw new Error(JSON.stringify(answer.body));
  return answer.body.agent.id;
}

/** Reads a run's stream to its end. */
export async function readRun(
  server: Pick<TestServer, 'events'>,
  method: 'POST' | 'GET',
  path: string,
  options: RestOptions,
): Promise<FinishedRun> {
  const { status, events: stream } = await server.events(method, path, options);
  const ids: number[] = [];
  const events: StreamedRunEvent[] = [];
  for await (const { id, data } of stream) {
    ids.push(Number(id));
    events.push(JSON.parse(data) as StreamedRunEvent);
  }
  if (status !== 200 || events.length === 0) throw new Error(`the stream answered ${status}`);
  const steps = events.flatMap(({ step }) => step ?? []);
  return { runId: String(events[0]!.run_id), ids, events, steps, last: events.at(-1)! };
}

/** Runs an agent and reads the stream to its end. */
export function runAgent(
  server: Pick<TestServer, 'events'>,
  key: string,
  agentId: string,
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<FinishedRun> {
  return readRun(server, 'POST', `/agents/${agentId}/run`, { key, body, headers });
}
