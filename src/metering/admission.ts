import type { PlanCatalogue, Principal } from '../access/access.types.js';
import { ApiError, invalid } from '../contract/errors.js';
import type { AdmissionAnswer, Outcome } from './admission-answer.js';
import { decode, STALE } from './admission-answer.js';
import type { AdmissionItem } from './admission-batch.js';
import { gather } from './admission-batch.js';
import { ADMIT, encode } from './admission.queries.js';
import { allowanceOf } from './allowance.js';
import { isBoundInUsd } from './budgets/matching-counters.js';
import { createCoalescer } from './coalescer.js';
import type { Connection } from './connection.js';
import type { Admission, AdmissionRequest, CostBound } from './metering.types.js';
import { endpointRule, keyRule, ownRule, withRate } from './rates.js';

export interface AdmissionOptions {
  plans: PlanCatalogue;
  connection: Connection;
  processId: string;
  refresh(principal: Principal): Promise<Principal>;
  /** Called after each statement with the number of callers and the duration. */
  onBatch?(size: number, seconds: number): void;
  /** Called when an operation's caller was refused although its reservation may exist. */
  releaseReservation(operationId: string): void;
  /** Called for each admitted request. */
  admitted(request: AdmissionRequest, admission: Admission): void;
  refused(error: unknown): void;
}

/** The maximum cost of an operation, if the organisation has a budget in USD; null if its model has no price; undefined if no budget needs it. */
function costOf({ principal: { budgets }, operation }: AdmissionRequest): CostBound | null | undefined {
  if (budgets === undefined || operation?.costBound === undefined) return undefined;
  return budgets.some(({ unit }) => unit === 'usd') ? operation.costBound() : undefined;
}

const noPrice = ({ operation }: AdmissionRequest, { rate }: Admission): ApiError =>
  withRate(invalid(`Model has no price: ${operation?.model}`, 'model'), rate);

/**
 * Admission: simultaneous requests share one call of `penstock_admit`. If a caller's cached key is out of date, it is read again and the
 * admission repeated.
 */
export function createAdmission({
  plans,
  connection,
  processId,
  refresh,
  releaseReservation,
  admitted,
  refused,
  onBatch,
}: AdmissionOptions) {
  const coalescer = createCoalescer<AdmissionItem, Outcome>({
    async run(items) {
      const batch = gather(items);
      const startedAt = performance.now();
      const answer = await connection.text(ADMIT, encode(batch, processId));
      onBatch?.(items.length, (performance.now() - startedAt) / 1000);
      if (answer === null) throw new Error('penstock_admit answered nothing');
      return decode(batch, JSON.parse(answer) as AdmissionAnswer);
    },
    abandoned({ request }) {
      if (request.operation !== undefined) releaseReservation(request.operation.id);
    },
  });
  const itemOf = (request: AdmissionRequest, cost: CostBound | null): AdmissionItem => ({
    cost,
    request,
    key: request.keyWindow ? keyRule(request.principal) : null,
    own: request.keyWindow ? ownRule(request.principal) : null,
    endpoint: request.endpoint === undefined ? null : endpointRule(plans, request.endpoint),
    allowance: allowanceOf(request.principal.plan).literal,
  });
  return {
    async admit(request: AdmissionRequest): Promise<Admission> {
      let current = request;
      try {
        for (let attempt = 0; attempt < 3; attempt++) {
          const cost = costOf(current);
          const unpriced = cost === null && isBoundInUsd(current);
          const admitting = unpriced ? { ...current, operation: undefined } : current;
          const outcome = await coalescer.add(itemOf(admitting, cost ?? null));
          if (outcome instanceof ApiError) throw outcome;
          if (outcome !== STALE) {
            if (unpriced) throw noPrice(current, outcome);
            admitted(request, outcome);
            return outcome;
          }
          current = { ...request, principal: await refresh(current.principal) };
        }
        throw new ApiError('unavailable', 'Service temporarily unavailable', { retryAfter: 1 });
      } catch (error) {
        refused(error);
        throw error;
      }
    },
    close: () => coalescer.close(),
  };
}
