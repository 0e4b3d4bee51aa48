import { setTimeout as sleep } from 'node:timers/promises';
import { abortSignalOf } from '../../collections/light-abort-signal.js';
import type { LightAbortSignal } from '../../collections/light-abort-signal.js';
import { atRest } from '../../processes/index.js';
import { abortedError } from '../../providers/index.js';

/** Longer waits leave a worker's place to others; to give it up and take it again for less costs more than it brings. */
export const REST_MS = 250;

/** Waits, unless the caller goes. @throws UpstreamError aborted */
export async function pause(ms: number, gone: LightAbortSignal): Promise<void> {
  if (gone.aborted) throw abortedError();
  if (ms <= 0) return;
  const signal = abortSignalOf(gone);
  const wait = (): Promise<void> => sleep(ms, undefined, { signal });
  try {
    await (ms < REST_MS ? wait() : atRest(wait, signal));
  } catch (error) {
    throw signal.aborted ? abortedError() : error;
  }
}
