import type { CallContext } from '../../metering/call-context.js';
import { rateOf, stricterRate } from '../../metering/index.js';
import type {
  Attribution,
  Metering,
  OperationRequest,
  RateState,
  Reservation,
  TakenSlots,
} from '../../metering/metering.types.js';
import type { LimitedEndpoint } from '../../contract/words.js';

/**
 * One admission for a call, which updates the call's state: the key's slot is taken once, the headers show the tighter window, and after a
 * reservation a retry gets the same answer again.
 * @throws ApiError unauthorized, rate_limited, quota_exceeded
 */
export async function admitCall(
  metering: Metering,
  call: CallContext,
  {
    slots,
    endpoint,
    operation,
    attribution,
  }: {
    endpoint?: LimitedEndpoint;
    operation?: OperationRequest;
    /** The key, user and metadata that the operation is attributed to. */
    attribution?: Attribution;
    slots?: CallSlots;
  },
): Promise<Reservation | null> {
  const { principal, requestId, client, keyWindowOpen: keyWindow } = call;
  const looked = (rate: RateState | null): void => {
    slots?.note({ principal, keyWindow, endpoint }, { before: call.rate, rate });
    call.rate = stricterRate(call.rate, rate);
  };
  // Set before the await, so that another field of the same operation does not take the slot again.
  call.keyWindowOpen = false;
  try {
    const { rate, reservation } = await metering.admit({
      principal,
      requestId,
      client,
      keyWindow,
      endpoint,
      operation,
      attribution,
    });
    looked(rate);
    if (operation !== undefined) call.admitted = true;
    return reservation;
  } catch (error) {
    looked(rateOf(error));
    throw error;
  }
}

/** The slots that one operation took, so that they can be returned if it is refused at step 4 later. */
export class CallSlots {
  private taken: TakenSlots | null = null;
  private before: RateState | null = null;
  private after: RateState | null = null;

  note(
    {
      principal,
      keyWindow,
      endpoint,
    }: Pick<TakenSlots, 'principal' | 'keyWindow'> & { endpoint: LimitedEndpoint | undefined },
    { before, rate }: { before: RateState | null; rate: RateState | null },
  ): void {
    if (rate?.takenAt === undefined) return;
    const { takenAt } = rate;
    this.taken = { principal, keyWindow, ...(endpoint === undefined ? {} : { endpoint }), takenAt };
    this.before = before;
    this.after = rate;
  }

  async returnTo(metering: Metering, call: CallContext): Promise<void> {
    const { taken } = this;
    this.taken = null;
    if (taken === null) return;
    await metering.returnSlots(taken);
    // The headers then show the windows' state before.
    if (call.rate === this.after) call.rate = this.before;
  }
}
