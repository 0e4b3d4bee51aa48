import type { Logger } from 'pino';
import type { Amounts } from '../vocabulary.js';
import { BUCKETS } from '../vocabulary.js';
import { allowanceOf } from './allowance.js';
import { difference } from './amounts.js';
import { createCoalescer } from './coalescer.js';
import type { Connection } from './connection.js';
import type { AdmissionRequest, Settlement, SettlementEvent } from './metering.types.js';
import { OpenOperations } from './open-operations.js';
import type { Ended, Ending } from './settlement-batch.js';
import { settleBatch, STATE } from './settlement-batch.js';

/** What `penstock_ledger_restore` needs to charge an operation whose reservation is gone. */
export function fallbackOf({ principal, operation, requestId, client }: AdmissionRequest): object {
  return {
    org: principal.orgId,
    key: principal.keyId,
    user: principal.userId,
    kind: operation?.kind,
    model: operation?.model,
    request: requestId,
    job: operation?.jobId,
    run: operation?.runId,
    serviceClient: client.serviceClient,
    clientName: client.clientName,
    userAgent: client.userAgent,
    version: principal.orgVersion,
    allowance: allowanceOf(principal.plan).vector,
  };
}

function tellLoss(logger: Logger, operationId: string, lost: Amounts): void {
  if (Object.keys(lost).length === 0) return;
  logger.warn(
    { operationId, lost, buckets: BUCKETS },
    'more was used than the bucket had: the operator bears it',
  );
}

/** Settlements and releases, coalesced: see `penstock_settle_batch`. A settlement's promise resolves when it is on the disk. */
export function createSettlement({
  connection,
  logger,
  eventsHeard,
}: {
  connection: Connection;
  logger: Logger;
  eventsHeard: boolean;
}) {
  const unheard = eventsHeard ? undefined : true;
  const open = new OpenOperations();
  const coalescer = createCoalescer<Ending, Ended>({
    persistent: true,
    run: (items) => settleBatch(connection, items, unheard),
  });

  const end = async (
    operationId: string,
    amounts: Amounts | null,
    event: SettlementEvent | null = null,
  ): Promise<Ended> => {
    const request = open.get(operationId);
    const ending = { operationId, amounts, event, orgId: request?.principal.orgId };
    let ended = await coalescer.add({ ...ending, fallback: null });
    if (ended.state === STATE.unknown && amounts !== null && request !== undefined) {
      logger.warn(
        { operationId },
        'a reservation was lost with the database; its operation is charged from memory',
      );
      ended = await coalescer.add({ ...ending, fallback: fallbackOf(request) });
    }
    open.delete(operationId);
    return ended;
  };
  return {
    /** Remembers an admitted operation until it ends here. */
    remember(request: AdmissionRequest): void {
      const { operation } = request;
      // A job's reservation is settled in the database, by whoever ran it.
      if (operation !== undefined && operation.jobId === undefined) open.add(operation.id, request);
    },
    async settle(operationId: string, amounts: Amounts, event?: SettlementEvent): Promise<Settlement> {
      const { state, charged, balances } = await end(operationId, amounts, event);
      if (balances === null) throw new Error(`operation ${operationId} is unknown`);
      const applied = state === STATE.now;
      if (applied) tellLoss(logger, operationId, difference(amounts, charged));
      return { applied, charged, balances };
    },
    async release(operationId: string): Promise<void> {
      await end(operationId, null);
    },
    close: () => coalescer.close(),
  };
}
