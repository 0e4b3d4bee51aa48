import { createSealer } from '../crypto/sealer.js';
import { isFields } from '../providers/index.js';

type Fields = Record<string, unknown>;

const PURPOSE = 'penstock carried turns';
/** The prefix of our seals, which distinguishes them from providers' own signatures. */
const MARK = 'pst1_';

/** Provider metadata of an assistant's message, which the provider needs back unchanged. */
export interface CarriedMetadata {
  /** The model that answered; another one could not read the metadata. */
  model: string;
  /** Further fields of the message: `reasoning_content`, `reasoning_details`, `extra_content` … */
  message?: Fields;
  /** The same fields of its tool calls, by call id. */
  calls?: Record<string, Fields>;
}

/**
 * Passes provider metadata through clients that keep only fields they know: encrypted in a reasoning item's `encrypted_content`, a thinking
 * block's `signature` or `redacted_thinking`'s `data` (beyond 11.9).
 */
export interface MetadataSeal {
  /** @param orgId the only organisation for which the seal can be opened */
  seal(orgId: string, carried: CarriedMetadata): string;
  /** Null if the text is not ours (a provider's own signature, or another installation's or organisation's seal). It is ignored. */
  open(orgId: string, sealed: unknown): CarriedMetadata | null;
}

/** @param signing the installation's secrets; seals of the previous secret can still be opened */
export function createMetadataSeal(signing: { current: string; previous: string | null }): MetadataSeal {
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
      const [owner, carried] = JSON.parse(opened.toString()) as [string, CarriedMetadata];
      return owner === orgId ? carried : null;
    },
  };
}

/** Whether a text is a seal of any Penstock installation; no provider can read it. */
export function isSeal(sealed: unknown): sealed is string {
  return typeof sealed === 'string' && sealed.startsWith(MARK);
}

/** The fields of a message or call in the convention itself; all other fields are carried. */
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

/** The provider metadata of a whole assistant message; null if there is none. */
export function metadataOf(model: string, message: Fields): CarriedMetadata | null {
  const own = others(message);
  const calls: Record<string, Fields> = {};
  for (const call of Array.isArray(message['tool_calls']) ? (message['tool_calls'] as unknown[]) : []) {
    if (!isFields(call)) continue;
    const requested = isFields(call['function']) ? call['function'] : {};
    const ofFunction = Object.fromEntries(
      Object.entries(requested).filter(([name]) => !OF_FUNCTION.has(name)),
    );
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

/** Restores the provider metadata of an assistant message. Its own fields stay. */
export function withMetadata(message: Fields, { message: own = {}, calls = {} }: CarriedMetadata): Fields {
  const { tool_calls: listed } = message;
  if (!Array.isArray(listed)) return { ...own, ...message };
  const restored = listed.map((call: unknown) => {
    const carried = isFields(call) ? calls[String(call['id'])] : undefined;
    if (!isFields(call) || carried === undefined) return call;
    const { function: ofFunction, ...rest } = carried;
    const requested = isFields(call['function']) ? call['function'] : {};
    return { ...rest, ...call, function: { ...(isFields(ofFunction) ? ofFunction : {}), ...requested } };
  });
  return { ...own, ...message, tool_calls: restored };
}
