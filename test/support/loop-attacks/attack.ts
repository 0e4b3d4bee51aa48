import type { FakeUpstream } from '../fake-upstream.js';
import type { Hostile } from '../hostile-texts.js';
import type { SpawnedServer } from '../spawned.js';

/** The attacker: a key with all rights, and an agent of its organisation. */
export interface Attacker {
  server: SpawnedServer;
  key: string;
  agentId: string;
  /** Another agent, with the model `acme/chat`. */
  acmeAgentId: string;
  /** Another agent, with a tool of the attacker's MCP server. */
  toolAgentId: string;
  /** The upstream of the models of `acme`. */
  upstream: FakeUpstream;
}

/** A field of an endpoint with a hostile value. `send` returns the answer's status. */
export interface Attack {
  field: string;
  form: string;
  send(attacker: Attacker): Promise<Told>;
}

export interface Told {
  status: number;
  /** The reason of its refusal. */
  error?: string | undefined;
}

export type Body = Record<string, unknown>;

export const rest =
  (method: string, path: string | ((attacker: Attacker) => string), body: unknown, headers = {}) =>
  async (attacker: Attacker): Promise<Told> => {
    const at = typeof path === 'string' ? path : path(attacker);
    const told = await attacker.server.rest<{ error?: string }>(method, at, {
      key: attacker.key,
      body,
      headers,
    });
    return { status: told.status, error: told.body?.error };
  };

export const each = (
  field: string,
  forms: readonly Hostile[],
  send: (value: never) => Attack['send'],
): Attack[] =>
  forms.map(({ form, value }) => ({ field, form, send: (attacker) => send(value as never)(attacker) }));

let turn = 0;
/**
 * Fields share the code that reads them. The first field, and those of the tokenizer, get all values; each other field gets one in six, in
 * turns, so that several fields get each value.
 */
export const some = <Value>(forms: Hostile<Value>[]): Hostile<Value>[] => {
  const offset = turn++ % 6;
  return forms.filter((_, at) => at % 6 === offset);
};

export const MB = 1_048_576;

export const chat = (body: Body) => rest('POST', '/chat/completions', body);
export const says = (content: unknown, more: Body = {}) =>
  chat({ messages: [{ role: 'user', content }], max_tokens: 20, ...more });
