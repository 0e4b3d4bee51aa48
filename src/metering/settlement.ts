import type { Logger } from 'pino';
import type { Amounts } from '../vocabulary.js';
import { BUCKETS } from '../vocabulary.js';
import { allowanceOf } from './allowance.js';
import type { RawBalance } from './amounts.js';
import { balancesOf, toAmounts, toVector } from './amounts.js';
import { createCoalescer } from './coalescer.js';
import type { Connection } from './connection.js';
import type { AdmissionRequest, Settlement, SettlementEvent } from './metering.types.js';

const SETTLE = { name: 'penstock_settle_batch', text: 'CALL penstock_settle_batch($1)' };
const UNKNOWN = 2;
/** Open operations that are remembered: between one and two times this many, the newest. */
const MAX_OPEN = 10_000;

/** Null amounts: release. */
interface Ending {
  operationId: string;
  amounts: Amounts | null;
  fallback: object | null;
  event: SettlementEvent | null;
}

type Ended = { state: number; charged: number[]; balance: RawBalance | null };

interface BatchAnswer {
  items: [state: number, balance: number, charged?: number[]][];
  balances: RawBalance[];
}

const NOTHING = toVector({});

function encode(items: Ending[], unheard: true | undefined): string {
  const fallbacks: Record<string, object> = {};
  for (const [i, { fallback }] of items.entries()) if (fallback !== null) fallbacks[i + 1] = fallback;
  const events = items.flatMap(({ event }, i) =>
    event === null ? [] : [{ at: i + 1, org: event.orgId, type: event.type, data: event.data, unheard }],
  );
  return JSON.stringify({
    ops: items.map(({ operationId }) => operationId),
    release: items.map(({ amounts }) => amounts === null),
    amounts: items.flatMap(({ amounts }) => (amounts === null ? NOTHING : toVector(amounts))),
    fallbacks: Object.keys(fallbacks).length === 0 ? undefined : fallbacks,
    events: events.length === 0 ? undefined : events,
  });
}

function decode({ items, balances }: BatchAnswer): Ended[] {
  return items.map(([state, index, charged]) => ({
    state,
    charged: charged ?? NOTHING,
    balance: balances[index] ?? null,
  }));
}

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

/** What open operations were, for the case that their reservations are lost with the database. Forgets the oldest, by generations. */
function createMemory() {
  let young = new Map<string, AdmissionRequest>();
  let old = young;
  return {
    set(request: AdmissionRequest): void {
      const { operation } = request;
      // A job's reservation is settled in the database, by whoever ran it.
      if (operation === undefined || operation.jobId !== undefined) return;
      if (young.size >= MAX_OPEN) {
        old = young;
        young = new Map();
      }
      young.set(operation.id, request);
    },
    get: (operationId: string) => young.get(operationId) ?? old.get(operationId),
    delete(operationId: string): void {
      young.delete(operationId);
      old.delete(operationId);
    },
  };
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
  const open = createMemory();
  const coalescer = createCoalescer<Ending, Ended>({
    persistent: true,
    async run(items) {
      const answer = await connection.text(SETTLE, [encode(items, unheard)]);
      if (answer === null) throw new Error('penstock_settle_batch answered nothing');
      return decode(JSON.parse(answer) as BatchAnswer);
    },
  });

  const end = async (
    operationId: string,
    amounts: Amounts | null,
    event: SettlementEvent | null = null,
  ): Promise<Ended> => {
    const request = open.get(operationId);
    let ended = await coalescer.add({ operationId, amounts, fallback: null, event });
    if (ended.state === UNKNOWN && amounts !== null && request !== undefined) {
      logger.warn(
        { operationId },
        'a reservation was lost with the database; its operation is charged from memory',
      );
      ended = await coalescer.add({ operationId, amounts, fallback: fallbackOf(request), event });
    }
    open.delete(operationId);
    return ended;
  };
  const tellLoss = (operationId: string, amounts: Amounts, charged: number[]): void => {
    const lost = toAmounts(toVector(amounts).map((amount, i) => amount - (charged[i] ?? 0)));
    if (Object.keys(lost).length > 0) {
      logger.warn(
        { operationId, lost, buckets: BUCKETS },
        'more was used than the bucket had: the operator bears it',
      );
    }
  };
  return {
    /** Remembers an admitted operation until it ends here. */
    remember: open.set,
    async settle(operationId: string, amounts: Amounts, event?: SettlementEvent): Promise<Settlement> {
      const { state, charged, balance } = await end(operationId, amounts, event);
      if (balance === null) throw new Error(`operation ${operationId} is unknown`);
      if (state === 1) tellLoss(operationId, amounts, charged);
      return { applied: state === 1, charged: toAmounts(charged), balances: balancesOf(balance) };
    },
    async release(operationId: string): Promise<void> {
      await end(operationId, null);
    },
    close: () => coalescer.close(),
  };
}
