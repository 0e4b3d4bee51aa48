import type { CallContext } from '../../metering/call-context.js';
import type { Metering } from '../../metering/metering.types.js';
import type { ModelCatalogue } from '../../models/models.types.js';
import { spliceObject } from '../../providers/index.js';
import { chatUsage } from './usage.js';
import type { Tokens } from './usage.js';

/** A chat's answer before it is charged, without the usage, which contains the charge. */
export interface UnchargedChat {
  /** The whole answer, or a stream's chunks in order: JSON texts. */
  texts: string[];
  /** Which of them gets the usage. */
  priced: number;
  tokens: Tokens;
  reported: unknown;
  /** The requested model. */
  model: string;
}

type Body = Record<string, unknown>;

/** Stores an answer before the charge, for a retry with the call's Idempotency-Key. @throws ApiError conflict: it must not be charged */
export type StoreUncharged = (operationId: string, made: UnchargedChat) => Promise<void>;

const inputOf = (body: Body): unknown => ['chat', body];

/** Null for a call without a key. */
export function createUnchargedStore({ unchargedAnswers }: CallContext, body: Body): StoreUncharged | null {
  if (unchargedAnswers === undefined) return null;
  return (operationId, value) => unchargedAnswers.keep(inputOf(body), { operationId, value });
}

/** The answer for which an earlier request with the call's key was charged before its process died; null if there is none. */
export async function chargedBefore(
  { metering, models }: { metering: Metering; models: ModelCatalogue },
  { unchargedAnswers }: CallContext,
  body: Body,
): Promise<string[] | null> {
  const earlier = await unchargedAnswers?.take(inputOf(body));
  if (!earlier) return null;
  const { texts, priced, tokens, reported, model: id } = earlier.value as UnchargedChat;
  const model = models.find(id);
  const settlement = await metering.settledBefore(earlier.operationId);
  if (model === null || settlement === null) return null;
  const usage = JSON.stringify(chatUsage({ tokens, reported, settlement, model }));
  return texts.map((text, at) => (at === priced ? spliceObject(text, { usage }) : text));
}
