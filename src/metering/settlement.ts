import type { Logger } from 'pino';
import type { Amounts } from '../contract/words.js';
import { BUCKETS } from '../contract/words.js';
import { storedText } from '../text/stored-json.js';
import { allowanceOf } from './allowance.js';
import { difference } from './amounts.js';
import { amountOf, matchingCounters } from './budgets/matching-counters.js';
import { createCoalescer } from './coalescer.js';
import type { Coalescer } from './coalescer.js';
import type { Connection } from './connection.js';
import type { Database } from '../database/index.js';
import type {
  AdmissionRequest,
  Metering,
  OperationEnd,
  OperationOutcome,
  Settlement,
} from './metering.types.js';
import { OpenOperations } from './open-operations.js';
import { zeroCostOutcome } from './outcome.js';
import type { Ended, Ending } from './settlement-batch.js';
import { settleBatch, STATE } from './settlement-batch.js';
import { TAKE_BACK } from './metering.queries.js';

/** The counters that count an operation, as `penstock_budget_restore` takes them. */
function countersOf(
  request: Pick<AdmissionRequest, 'principal' | 'operation' | 'attribution'>,
): object[] | undefined {
  if (request.principal.budgets === undefined) return undefined;
  return matchingCounters(request).map(({ rule, subject }) => ({
    budget: rule.id,
    subject,
    amount: amountOf(rule),
  }));
}

/** The attribution of an operation, in the form for `penstock_ledger_restore`. */
export function countedFor(
  request: Pick<AdmissionRequest, 'principal' | 'operation' | 'client' | 'attribution'>,
): object {
  const { operation, client, attribution } = request;
  return {
    parent: operation?.parent,
    endUser: attribution && attribution.endUser && storedText(attribution.endUser),
    tags: attribution?.tags,
    serviceClient: client.serviceClient,
    clientName: client.clientName,
    userAgent: client.userAgent,
    budgets: countersOf(request),
  };
}

/** The data that `penstock_ledger_restore` needs to charge an operation whose reservation was lost. */
export function fallbackOf(request: AdmissionRequest): object {
  const { principal, operation, requestId } = request;
  return {
    ...countedFor(request),
    org: principal.orgId,
    key: principal.keyId,
    user: principal.userId,
    kind: operation?.kind,
    model: operation?.model,
    request: requestId,
    job: operation?.jobId,
    run: operation?.runId,
    version: principal.orgVersion,
    allowance: allowanceOf(principal.plan).vector,
  };
}

function logLoss(logger: Logger, operationId: string, lost: Amounts): void {
  if (Object.keys(lost).length === 0) return;
  logger.warn(
    { operationId, lost, buckets: BUCKETS },
    'more was used than the bucket had: the operator bears it',
  );
}

/**
 * Whether a new period has begun since the charge, so that the returned buckets are not the charged ones. The plan may have changed too, which
 * the settling statement does not know.
 */
function areOfNextPeriod(balances: Settlement['balances'], charged: Amounts): boolean {
  return BUCKETS.some((bucket) => Math.round(balances[bucket].used * 100) < (charged[bucket] ?? 0));
}

interface SettlementOptions {
  database: Pick<Database, 'system'>;
  connection: Connection;
  /** The buckets as GET /quota shows them. Reading them begins the current period if no call has done so. */
  quotas: Pick<Metering, 'balances'>;
  logger: Logger;
  hasEventConsumers: boolean;
}

/**
 * Reverses charges whose callers got a 503 because PostgreSQL did not answer, although it had committed them. Repeated until it succeeds, as long
 * as the process lives.
 */
function coalesceTakingBack({ database: { system } }: SettlementOptions): Coalescer<string, null> {
  return createCoalescer({
    persistent: true,
    async run(operationIds) {
      await system.query(TAKE_BACK, [operationIds]);
      return operationIds.map(() => null);
    },
  });
}

/** The outcome if the caller got a 503 instead of the answer: the answer's cost remains. */
function unavailable({ amounts, outcome }: Ending): OperationOutcome | null {
  return amounts === null || outcome === null
    ? outcome
    : { ...outcome, status: 'failed', errorCode: 'unavailable' };
}

/** Settlements and releases: simultaneous ones share one call of `penstock_settle_batch`. */
function coalesceEndings(
  { connection, hasEventConsumers, logger }: SettlementOptions,
  takingBack: Coalescer<string, null>,
): Coalescer<Ending, Ended> {
  const unheard = hasEventConsumers ? undefined : true;
  return createCoalescer({
    persistent: true,
    async run(items) {
      // Waits for the connection first, so that a caller who is refused during the wait is not charged by a statement that was already built.
      await connection.ready();
      return await settleBatch(connection, items, unheard);
    },
    refused(item) {
      if (item.unseen) Object.assign(item, { amounts: null, event: null, outcome: unavailable(item) });
    },
    abandoned({ unseen, operationId }) {
      if (!unseen) return;
      takingBack
        .add(operationId)
        .catch((error: unknown) =>
          logger.warn(
            { err: error, operationId },
            'a charge could not be refunded yet; it will be tried again',
          ),
        );
    },
  });
}

function endingOf(
  operationId: string,
  { amounts, outcome, event }: Omit<OperationEnd, 'amounts'> & Pick<Ending, 'amounts'>,
  { orgId, unseen }: Pick<Ending, 'orgId' | 'unseen'>,
): Ending {
  return { operationId, amounts, outcome, event: event ?? null, orgId, fallback: null, unseen };
}

/** Ends operations, each once. A settlement's promise resolves when it is on the disk. */
export function createSettlement(options: SettlementOptions) {
  const { logger, quotas } = options;
  const open = new OpenOperations();
  const takingBack = coalesceTakingBack(options);
  const coalescer = coalesceEndings(options, takingBack);

  const chargeFromMemory = (ending: Ending, request: AdmissionRequest): Promise<Ended> => {
    logger.warn(
      { operationId: ending.operationId },
      'a reservation was lost with the database; its operation is charged from memory',
    );
    return coalescer.add({ ...ending, fallback: fallbackOf(request) });
  };
  const settled = async (operationId: string, end: OperationEnd, unseen: boolean): Promise<Settlement> => {
    const request = open.get(operationId);
    const orgId = request?.principal.orgId;
    const ending = endingOf(operationId, end, { orgId, unseen });
    let ended = await coalescer.add(ending);
    if (ended.state === STATE.unknown && request !== undefined)
      ended = await chargeFromMemory(ending, request);
    open.delete(operationId);
    const { state, charged, balances } = ended;
    if (balances === null) throw new Error(`operation ${operationId} is unknown`);
    const applied = state === STATE.now;
    if (applied) logLoss(logger, operationId, difference(end.amounts, charged));
    if (orgId === undefined || !areOfNextPeriod(balances, charged)) return { applied, charged, balances };
    // The charge is final, even if the balances cannot be read.
    return { applied, charged, balances: await quotas.balances(orgId).catch(() => balances) };
  };
  return {
    /** Remembers an admitted operation until it ends here. */
    remember(request: AdmissionRequest): void {
      const { operation } = request;
      // A job's reservation is settled in the database by the worker that ran it, so it is not remembered here.
      if (operation !== undefined && operation.jobId === undefined) open.add(operation.id, request);
    },
    settle: (operationId: string, end: OperationEnd) => settled(operationId, end, false),
    settleUnseen: (operationId: string, end: OperationEnd) => settled(operationId, end, true),
    async release(operationId: string, outcome = zeroCostOutcome('cancelled')): Promise<void> {
      const orgId = open.get(operationId)?.principal.orgId;
      await coalescer.add(endingOf(operationId, { amounts: null, outcome }, { orgId, unseen: true }));
      open.delete(operationId);
    },
    hurry: () => coalescer.hurry(),
    async close() {
      await coalescer.close();
      await takingBack.close();
    },
  };
}
