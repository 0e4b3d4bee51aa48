import type { CallContext } from '../metering/call-context.js';
import { rateOf, tighter } from '../metering/index.js';
import type { Metering, OperationRequest, Reservation } from '../metering/metering.types.js';
import type { LimitedEndpoint } from '../vocabulary.js';

/**
 * One admission for a call, with what the call must remember of it: its key's slot is taken once, the headers show the narrower window,
 * and an answer after a reservation is one that a retry gets again.
 * @throws ApiError unauthorized, rate_limited, quota_exceeded
 */
export async function admitCall(
  metering: Metering,
  call: CallContext,
  what: { endpoint?: LimitedEndpoint; operation?: OperationRequest },
): Promise<Reservation | null> {
  const keyWindow = call.keyWindowOpen;
  // At once, so that another field of the same operation does not take the slot again.
  call.keyWindowOpen = false;
  try {
    const { rate, reservation } = await metering.admit({
      principal: call.principal,
      requestId: call.requestId,
      client: call.client,
      keyWindow,
      ...what,
    });
    call.rate = tighter(call.rate, rate);
    if (what.operation !== undefined) call.admitted = true;
    return reservation;
  } catch (error) {
    call.rate = tighter(call.rate, rateOf(error));
    throw error;
  }
}
