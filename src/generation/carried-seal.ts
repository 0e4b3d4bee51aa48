import { createSealer } from '../crypto/sealer.js';
import { isFields } from '../providers/index.js';

type Fields = Record<string, unknown>;

const PURPOSE = 'penstock carried turns';
/** Begins each of our seals, so that a maker's own text is told apart at once. */
const MARK = 'pst1_';

/** What an assistant's turn carries for the maker of its model, which wants it back verbatim. */
export interface Carried {
  /** The model that answered: another would not understand it. */
  model: string;
  /** Fields of a chat's message beside what it says: `reasoning_content`, `reasoning_details`, `extra_content` … */
  message?: Fields;
  /** The same of its tool calls, by call id. */
  calls?: Record<string, Fields>;
}

/**
 * Carries what a turn holds for its maker through clients that keep only the fields they know: sealed in a reasoning item's
 * `encrypted_content`, a thinking block's `signature` or `redacted_thinking`'s `data` (beyond 11.9).
 */
export interface CarriedSeal {
  /** @param orgId the only organisation that can hand it back */
  seal(orgId: string, carried: Carried): string;
  /** Null: another's seal (a maker's own, another installation's or organisation's, or no seal at all). It is ignored. */
  open(orgId: string, sealed: unknown): Carried | null;
}

/** @param signing the installation's secrets; what the previous one sealed still opens */
export function createCarriedSeal(signing: { current: string; previous: string | null }): CarriedSeal {
  const current = createSealer(signing.current, PURPOSE);
  const previous = signing.previous === null ? null : createSealer(signing.previous, PURPOSE);
  return {
    seal(orgId, carried) {
      return MARK + current.seal(Buffer.from(JSON.stringify([orgId, carried]))).toString('base64url');
    },
    open(orgId, sealed) {
      if (!isSeal(sealed)) return null;
      const bytes = Buffer.from(sealed.slice(MARK.length), 'base64url');
      const opened = current.open(bytes) ?? previous?.open(bytes) ?? null;
      if (opened === null) return null;
      const [owner, carried] = JSON.parse(opened.toString()) as [string, Carried];
      return owner === orgId ? carried : null;
    },
  };
}

/** Whether a text is a seal of an installation like this one, which no maker would understand. */
export function isSeal(sealed: unknown): sealed is string {
  return typeof sealed === 'string' && sealed.startsWith(MARK);
}

/** What a message or call of the convention says by itself; all else is carried. */
const SAID: ReadonlySet<string> = new Set(
  'role content tool_calls function_call refusal usage name id type index function audio annotations'.split(
    ' ',
  ),
);

function others(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => !SAID.has(name) && !isNothing(value)),
  );
}

function isNothing(value: unknown): boolean {
  if (value == null || value === '' || value === false) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

const OF_FUNCTION: ReadonlySet<string> = new Set(['name', 'arguments']);

/** What a whole assistant message of the convention carries; null where it carries nothing. */
export function carriedOf(model: string, message: Fields): Carried | null {
  const own = others(message);
  const calls: Record<string, Fields> = {};
  for (const call of Array.isArray(message['tool_calls']) ? (message['tool_calls'] as unknown[]) : []) {
    if (!isFields(call)) continue;
    const asked = isFields(call['function']) ? call['function'] : {};
    const ofFunction = Object.fromEntries(Object.entries(asked).filter(([name]) => !OF_FUNCTION.has(name)));
    const carried = {
      ...others(call),
      ...(Object.keys(ofFunction).length === 0 ? {} : { function: ofFunction }),
    };
    if (Object.keys(carried).length > 0) calls[String(call['id'])] = carried;
  }
  if (Object.keys(own).length === 0 && Object.keys(calls).length === 0) return null;
  return {
    model,
    ...(Object.keys(own).length === 0 ? {} : { message: own }),
    ...(Object.keys(calls).length === 0 ? {} : { calls }),
  };
}

/** An assistant message with what it carried in its place again. What it says itself stands. */
export function withCarried(message: Fields, { message: own = {}, calls = {} }: Carried): Fields {
  const { tool_calls: listed } = message;
  if (!Array.isArray(listed)) return { ...own, ...message };
  const restored = listed.map((call: unknown) => {
    const carried = isFields(call) ? calls[String(call['id'])] : undefined;
    if (!isFields(call) || carried === undefined) return call;
    const { function: ofFunction, ...rest } = carried;
    const asked = isFields(call['function']) ? call['function'] : {};
    return { ...rest, ...call, function: { ...(isFields(ofFunction) ? ofFunction : {}), ...asked } };
  });
  return { ...own, ...message, tool_calls: restored };
}
