import type { Logger } from 'pino';
import type { PlanCatalogue, Principal } from '../access/access.types.js';
import type { Database } from '../database/index.js';
import { ApiError } from '../contract/errors.js';
import { createAdmission } from './admission.js';
import { tokenAmounts } from './amounts.js';
import { lazyConnection } from './connection.js';
import { createReleaseRetry } from './release-retry.js';
import { createLease } from './lease.js';
import type { Metering } from './metering.types.js';
import { returnSlots } from './return-slots.js';
import { createPastSettlements } from './past-settlements.js';
import { createQuotas } from './quota.js';
import { createSettlement } from './settlement.js';
import { SETTLEMENT_SETTINGS } from './settlement.queries.js';

export interface MeteringOptions {
  database: Pick<Database, 'system' | 'dedicated' | 'transaction'>;
  plans: PlanCatalogue;
  logger: Logger;
  /** Names this process in `processes` and as the holder of its reservations; new at every start. */
  processId: string;
  role: string;
  /** Reads a key and its organisation's plan again, without the cache. Called when admission finds the cached copy out of date. */
  refresh(principal: Principal): Promise<Principal>;
  /**
   * False if only webhooks consume the events of settlements (no Kafka): then events of organisations without a webhook are not written. Default
   * true.
   */
  hasEventConsumers?: boolean;
  /** Called after each admission statement with the number of callers and the seconds. */
  onBatch?: (size: number, seconds: number) => void;
  /** Called for each admission with `admitted` or the code of the refusal. */
  onAdmission?: (outcome: string) => void;
}

function connectionsOf(database: MeteringOptions['database']) {
  return {
    admit: lazyConnection(database),
    settle: lazyConnection(database, SETTLEMENT_SETTINGS),
  };
}

/**
 * Rate windows, reservations and their ledger. It has two dedicated connections: one for admissions, one for settlements and releases, because a
 * settlement waits for the disk and an admission does not.
 */
export function createMetering({
  database,
  plans,
  logger,
  processId,
  role,
  refresh,
  onBatch,
  onAdmission,
  hasEventConsumers = true,
}: MeteringOptions): Metering {
  const { admit, settle } = connectionsOf(database);
  const quotas = createQuotas({ database, plans });
  const settlement = createSettlement({ database, connection: settle, quotas, logger, hasEventConsumers });
  const releaseReservation = (operationId: string): void => {
    settlement
      .release(operationId)
      .catch((error: unknown) =>
        logger.warn({ err: error, operationId }, 'a reservation could not be released'),
      );
  };
  const admission = createAdmission({
    plans,
    connection: admit,
    processId,
    refresh,
    releaseReservation,
    admitted(request, { reservation }) {
      onAdmission?.('admitted');
      if (reservation !== null) settlement.remember(request);
    },
    refused: (error) => onAdmission?.(error instanceof ApiError ? error.code : 'error'),
    ...(onBatch ? { onBatch } : {}),
  });
  const givingBack = createReleaseRetry({ release: settlement.release, logger });
  const lease = createLease({ database, processId, role, logger });
  return {
    admit: admission.admit,
    returnSlots: (slots) => returnSlots(database, slots),
    tokenAmounts,
    settle: settlement.settle,
    settleUnseen: settlement.settleUnseen,
    release: settlement.release,
    releaseUnless: givingBack.releaseUnless,
    ...quotas,
    settledBefore: createPastSettlements(database, settlement),
    hurry: settlement.hurry,
    connect: async () => void (await Promise.all([admit.ready(), settle.ready()])),
    start: lease.start,
    async close() {
      givingBack.close();
      await admission.close();
      await settlement.close();
      await lease.close();
      await Promise.all([admit.close(), settle.close()]);
    },
  };
}
