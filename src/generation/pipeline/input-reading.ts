import { withinInputTime } from '../../files/index.js';
import type { CallContext } from '../../metering/call-context.js';
import { runForOrg } from '../../processes/index.js';

/** Reads what a call gives, in the turns of its organisation and within the time that its caller waits. @throws ApiError */
export async function readInputs<T>(
  call: CallContext,
  read: (reading: CallContext) => Promise<T>,
): Promise<T> {
  return await withinInputTime(call.signal, (signal) =>
    runForOrg(call.principal.orgId, () => read({ ...call, signal })),
  );
}
