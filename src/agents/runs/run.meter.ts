import type { Logger } from 'pino';
import type { Principal } from '../../access/access.types.js';
import { storageLimitOf } from '../../access/index.js';
import { ApiError, invalid } from '../../contract/errors.js';
import { newId } from '../../contract/ids.js';
import { CANCELLED, isBoundInUsd, ledgerFallback, recordJson } from '../../metering/index.js';
import type {
  CostBound,
  Metering,
  OperationOutcome,
  OperationRequest,
  TokenPrice,
} from '../../metering/index.js';
import type { Model } from '../../models/models.types.js';
import type { Amounts } from '../../contract/words.js';
import type { ToolCost } from '../tools/tool.types.js';
import { RunFault } from './run.fault.js';
import type { EndedOperation } from './run.moves.queries.js';
import type { RunRow } from './run.row.js';

/** Refusals that end the run, in their own words. */
const ENDING: ReadonlySet<string> = new Set(['unauthorized', 'budget_exceeded', 'invalid_request']);

function requirePrice({ model, most }: ToolCost): void {
  if (most !== null) return;
  const fault = invalid(`Model has no price: ${model}`, 'model');
  throw new RunFault(fault.message, fault);
}

/**
 * The reservations of one run. Each model call and each tool reserves its price before it begins. The reservation is settled in the
 * transaction that writes the step, so that the ledger, `credits_used` and the steps always agree.
 */
export class RunMeter {
  private readonly open = new Map<string, OperationRequest>();
  private readonly outcomes = new Map<string, OperationOutcome>();

  constructor(
    private readonly options: { metering: Metering; principal: Principal; run: RunRow; logger: Logger },
  ) {}

  /** The storage limit of the organisation's plan, in bytes; -1: no limit. */
  get storageLimit(): number {
    return storageLimitOf(this.options.principal.plan);
  }

  /** By whose key the run goes. */
  get caller(): Principal {
    return this.options.principal;
  }

  /** Whether a hard budget in USD counts the run's calls. */
  get isBoundInUsd(): boolean {
    return isBoundInUsd(this.request({ id: '', kind: 'agent_model', price: {}, model: null }));
  }

  /** @returns the tokens that the reservation covers. @throws RunFault `Quota exceeded for credits` */
  async reserveTokens(
    id: string,
    model: Model,
    { price, costBound }: { price: TokenPrice; costBound: () => CostBound | null },
  ): Promise<number> {
    const reservation = await this.reserve({ id, kind: 'agent_model', price, model: model.id, costBound });
    return reservation?.coveredTokens ?? price.promptTokens + price.maxTokens;
  }

  /**
   * Reserves the price of a tool in whole credits; null if it is free.
   * @param costs what its own model may cost
   * @throws RunFault `Quota exceeded for credits`, `Model has no price: …`
   */
  async reserveTool(credits: number, costs?: (principal: Principal) => ToolCost): Promise<string | null> {
    if (credits === 0) return null;
    const id = newId('op');
    const { principal } = this.options;
    if (costs !== undefined && this.isBoundInUsd) requirePrice(costs(principal));
    const cost = costs && { costBound: () => costs(principal).most };
    await this.reserve({ id, kind: 'agent_tool', price: { credits: credits * 100 }, model: null, ...cost });
    return id;
  }

  tokenAmounts(tokens: number, multiplier: number): Amounts {
    return this.options.metering.tokenAmounts(tokens, multiplier);
  }

  /** An operation in the form in which the next write settles it. */
  ended(id: string, amounts: number[] | null, outcome: OperationOutcome): EndedOperation {
    const operation = this.open.get(id);
    this.open.delete(id);
    this.costs(id, outcome);
    const ended = { id, amounts, outcome: recordJson(outcome) };
    if (operation === undefined || amounts === null) return ended;
    return { ...ended, fallback: ledgerFallback(this.request(operation)) };
  }

  /** Records the cost of an operation, which may be released if its result was never delivered. */
  costs(id: string, outcome: OperationOutcome): void {
    this.outcomes.set(id, { ...outcome, ...CANCELLED });
  }

  async release(id: string, outcome = this.outcomes.get(id)): Promise<void> {
    this.open.delete(id);
    try {
      await this.options.metering.release(id, outcome);
    } catch (error) {
      this.options.logger.warn(
        { err: error, operationId: id },
        'a reservation could not be released; the sweep will do it',
      );
    }
  }

  /** Releases the operations that were never written. */
  async releaseAll(): Promise<void> {
    for (const id of [...this.open.keys()]) await this.release(id);
  }

  private async reserve(operation: OperationRequest) {
    const { id } = this.options.run;
    const request = this.request({ ...operation, runId: id, parent: id });
    try {
      const { reservation } = await this.options.metering.admit(request);
      this.open.set(operation.id, request.operation);
      return reservation;
    } catch (error) {
      if (error instanceof ApiError && error.code === 'quota_exceeded')
        throw new RunFault('Quota exceeded for credits', error);
      if (error instanceof ApiError && ENDING.has(error.code)) throw new RunFault(error.message, error);
      throw error;
    }
  }

  private request(operation: OperationRequest) {
    const { principal, run } = this.options;
    const { request_id: requestId, client, attribution } = run;
    return { principal, requestId, client, keyWindow: false, operation, attribution };
  }
}
