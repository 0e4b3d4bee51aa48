import type { Logger } from 'pino';
import { newId } from '../../contract/ids.js';
import type { Amounts } from '../../contract/words.js';
import { attributionOf, isBoundInUsd, OperationTally, SUCCEEDED } from '../../metering/index.js';
import type { Attempted } from '../../metering/index.js';
import type { CallContext } from '../../metering/call-context.js';
import type { Attribution, Metering, OperationRequest, Settlement } from '../../metering/metering.types.js';
import type { Model, ModelCatalogue } from '../../models/models.types.js';
import { UpstreamError } from '../../providers/index.js';
import type { Provider, ProviderRegistry } from '../../providers/index.js';
import { answerOfFault, endingOf } from '../chat/settlement.js';
import { admitCall } from './call-admission.js';
import { isCallable } from './checks.js';
import { costBound } from './cost-bound.js';
import type { MostUsed } from './cost-bound.js';
import { createUpstreams } from './upstreams.js';

export interface DirectCallOptions {
  models: ModelCatalogue;
  providers: ProviderRegistry;
  metering: Metering;
  logger: Logger;
}

/** An answer before it is charged. */
export interface MadeAnswer extends Record<string, unknown> {
  usage: Record<string, unknown>;
}

interface Made {
  answer: MadeAnswer;
  amounts: Amounts;
  /** The usage that the upstream charges for. */
  used: Omit<Attempted, 'model'>;
}

/** A kind of call that is not a job and gives one whole answer. */
export interface DirectCall<Checked extends { model: Model }, Value> {
  /** The kind of its stored answers, for a retry with the call's Idempotency-Key; also its name in the log. */
  name: 'embeddings' | 'rerank';
  kind: OperationRequest['kind'];
  /** @throws ApiError */
  check(call: CallContext, body: Record<string, unknown>): Checked | Promise<Checked>;
  /** The price to reserve. */
  price(checked: Checked): OperationRequest['price'];
  /** The maximum that it may use of its model. */
  mostUsed(checked: Checked): MostUsed;
  /** One attempt. @throws UpstreamError */
  ask(provider: Provider, target: Model, work: { checked: Checked; signal: AbortSignal }): Promise<Value>;
  /** @param answered the model that gave the value */
  made(value: Value, of: { checked: Checked; answered: Model }): Promise<Made>;
}

const priced = (made: MadeAnswer, { charged }: Settlement): Record<string, unknown> => ({
  ...made,
  usage: { ...made.usage, credits_used: (charged.credits ?? 0) / 100 },
});

/** Takes slots and reserves the price in one statement. An error of the checks is thrown after the slot was taken, because 429 comes before 403 and 400. */
async function admit<C extends { model: Model }, V>(
  { metering, models }: DirectCallOptions,
  { check, price, mostUsed, kind }: DirectCall<C, V>,
  { call, body }: { call: CallContext; body: Record<string, unknown> },
): Promise<{ checked: C; operationId: string; tally: OperationTally }> {
  let checked: C;
  let attribution: Attribution;
  try {
    checked = await check(call, body);
    attribution = attributionOf(call, body);
  } catch (fault) {
    await admitCall(metering, call, {});
    throw fault;
  }
  const operationId = newId('op');
  const operation: OperationRequest = {
    id: operationId,
    kind,
    price: price(checked),
    model: checked.model.id,
    costBound: () => costBound({ models, caller: call.principal }, checked.model, mostUsed(checked)),
  };
  await admitCall(metering, call, {
    operation,
    attribution,
  });
  const tally = new OperationTally();
  tally.pricedOnly = () => isBoundInUsd({ principal: call.principal, operation, attribution });
  tally.mayUseFallback = (model) => isCallable(call.principal, model);
  return { checked, operationId, tally };
}

/** The answer for which an earlier request with the call's Idempotency-Key was charged before its process died. */
async function chargedBefore(
  metering: Metering,
  { unchargedAnswers }: CallContext,
  keptAs: unknown,
): Promise<Record<string, unknown> | null> {
  const earlier = await unchargedAnswers?.take(keptAs);
  if (!earlier) return null;
  const settlement = await metering.settledBefore(earlier.operationId);
  return settlement && priced(earlier.value as MadeAnswer, settlement);
}

/** Returns the function that answers a call: it checks, reserves, calls the upstream, stores the answer for a retry, then charges. It throws ApiError. */
export function createDirectCall<C extends { model: Model }, V>(
  options: DirectCallOptions,
  direct: DirectCall<C, V>,
): (call: CallContext, body: Record<string, unknown>) => Promise<Record<string, unknown>> {
  const { metering, logger } = options;
  const upstreams = createUpstreams(options);
  const never = new AbortController().signal;
  return async (call, body) => {
    const keptAs = [direct.name, body];
    const before = await chargedBefore(metering, call, keptAs);
    if (before) return before;
    const { checked, operationId, tally } = await admit(options, direct, { call, body });
    const signal = call.idempotencyKey === null ? call.signal : never;
    const { value, model: answered } = await upstreams
      .ask(checked.model, { signal, tally }, (provider, target) =>
        direct.ask(provider, target, { checked, signal }),
      )
      .catch(async (error: unknown) => {
        await metering.release(operationId, tally.outcome(endingOf(error)));
        if (!(error instanceof UpstreamError)) logger.error({ err: error }, `${direct.name} failed`);
        throw answerOfFault(error);
      });
    const { answer, amounts, used } = await direct.made(value, { checked, answered });
    tally.answers({ model: answered, ...used });
    await call.unchargedAnswers?.keep(keptAs, { operationId, value: answer }).catch(async (lost: unknown) => {
      await metering.release(operationId, tally.outcome(endingOf(lost)));
      throw lost;
    });
    return priced(
      answer,
      await metering.settleUnseen(operationId, { amounts, outcome: tally.outcome(SUCCEEDED) }),
    );
  };
}
