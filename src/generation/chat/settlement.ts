import type { Logger } from 'pino';
import { ApiError } from '../../contract/errors.js';
import type { Model } from '../../models/models.types.js';
import { CANCELLED, SUCCEEDED } from '../../metering/index.js';
import type { OperationEnding } from '../../metering/index.js';
import type { Metering, Settlement, SettlementEvent } from '../../metering/metering.types.js';
import { UpstreamError } from '../../providers/index.js';
import { currentTraceparent } from '../../telemetry/index.js';
import type { Amounts } from '../../contract/words.js';
import type { AdmittedChat } from './admission.js';
import { tokenRate } from './usage.js';
import type { Tokens } from './usage.js';

export interface ChatSettlement {
  /**
   * Charges a finished answer and writes its event; resolves when the charge is committed.
   * @param answer `unseen`: nothing was delivered yet, or a retry will get all of it again
   */
  finish(
    chat: AdmittedChat,
    tokens: Tokens,
    answer: { messageId: string; model: string; unseen: boolean },
  ): Promise<Settlement>;
  /** Charges an unfinished answer: the prompt and what was delivered. */
  charge(chat: AdmittedChat, completionTokens: number, ending: OperationEnding): Promise<void>;
  /** Logs a stream that broke off, if {@link fail} does not log it. */
  logInterrupted(error: unknown, model: Model): void;
  /** The caller's error for any error of an upstream. */
  answerOf(error: unknown): ApiError;
  /** For an upstream that failed before its first token: charges nothing, unless the caller had disconnected. @returns the error to answer */
  fail(chat: AdmittedChat, error: unknown): Promise<ApiError>;
}

/** The caller's error for any error of an upstream. */
export function answerOfFault(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  // The caller has disconnected, so nobody reads this error, and it is not logged.
  if (error instanceof UpstreamError && error.fault === 'aborted')
    return new ApiError('unavailable', error.message, { cause: error });
  if (error instanceof UpstreamError && error.fault === 'rejected') {
    return new ApiError('invalid_request', error.message, { cause: error });
  }
  return new ApiError('server_error', 'Generation failed', { cause: error });
}

/** The outcome of a failed operation. */
export function endingOf(error: unknown): OperationEnding {
  if (error instanceof UpstreamError && error.fault === 'aborted') return CANCELLED;
  return { status: 'failed', errorCode: answerOfFault(error).code };
}

export function createChatSettlement(options: { metering: Metering; logger: Logger }): ChatSettlement {
  const { metering, logger } = options;

  const amountsOf = (chat: AdmittedChat, totalTokens: number): Amounts =>
    metering.tokenAmounts(totalTokens, tokenRate(chat.model));

  const charge: ChatSettlement['charge'] = async (chat, completionTokens, ending) => {
    const amounts = amountsOf(chat, chat.promptTokens + completionTokens);
    await metering.settle(chat.operationId, { amounts, outcome: chat.tally.outcome(ending) });
  };

  return {
    charge,
    answerOf: answerOfFault,
    logInterrupted(error, { id, upstream }) {
      if (error instanceof ApiError || (error instanceof UpstreamError && error.fault === 'aborted')) return;
      const told = { model: id, provider: upstream?.providerId };
      if (error instanceof UpstreamError)
        logger.warn({ ...told, reason: error.message }, 'an upstream failed in the middle of its answer');
      else logger.error({ ...told, err: error }, 'a chat call failed in the middle of its answer');
    },
    finish(chat, tokens, { messageId, model, unseen }) {
      const event: SettlementEvent = {
        orgId: chat.call.principal.orgId,
        type: 'chat.message.created',
        data: { messageId, model, role: 'assistant', totalTokens: tokens.total, conversationId: null },
        traceparent: currentTraceparent(),
      };
      const amounts = amountsOf(chat, tokens.total);
      const end = { amounts, outcome: chat.tally.outcome(SUCCEEDED), event };
      return unseen ? metering.settleUnseen(chat.operationId, end) : metering.settle(chat.operationId, end);
    },
    async fail(chat, error) {
      const gone = error instanceof UpstreamError && error.fault === 'aborted';
      try {
        if (gone) await charge(chat, 0, CANCELLED);
        else await metering.release(chat.operationId, chat.tally.outcome(endingOf(error)));
      } catch (cause) {
        logger.error({ err: cause, operationId: chat.operationId }, 'a chat call could not be settled');
      }
      if (!(error instanceof UpstreamError) && !(error instanceof ApiError))
        logger.error({ err: error }, 'a chat call failed');
      return answerOfFault(error);
    },
  };
}
