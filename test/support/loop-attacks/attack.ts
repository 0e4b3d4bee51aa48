import type { FakeUpstream } from '../fake-upstream.js';
import type { Hostile } from '../hostile-texts.js';
import type { SpawnedServer } from '../spawned.js';

/** Who attacks: a key with everything allowed, and an agent of its organisation. */
export interface Attacker {
  server: SpawnedServer;
  key: string;
  agentId: string;
  /** Another, whose model is `acme/chat`. */
  acmeAgentId: string;
  /** Another, with the tool of the server of tools that the attacker brings. */
  toolAgentId: string;
  /** What the models of `acme` run on. */
  upstream: FakeUpstream;
}

/** A field of an endpoint with a hostile form in it. `send` gives the answer's status. */
export interface Attack {
  field: string;
  form: string;
  send(attacker: Attacker): Promise<Told>;
}

export interface Told {
  status: number;
  /** What it was refused for. */
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
 * Fields share the code that reads them: the first, and the tokenizer's, meet all forms, the others one in six each, in turns, so that every
 * form comes to several.
 */
export const some = <Value>(forms: Hostile<Value>[]): Hostile<Value>[] => {
  const offset = turn++ % 6;
  return forms.filter((_, at) => at % 6 === offset);
};

export const MB = 1_048_576;

export const chat = (body: Body) => rest('POST', '/chat/completions', body);
export const says = (content: unknown, more: Body = {}) =>
  chat({ messages: [{ role: 'user', content }], max_tokens: 20, ...more });
