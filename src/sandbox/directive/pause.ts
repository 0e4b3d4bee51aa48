import { setTimeout as sleep } from 'node:timers/promises';
import { abortSignalOf } from '../../collections/light-abort-signal.js';
import type { LightAbortSignal } from '../../collections/light-abort-signal.js';
import { withoutPermit } from '../../processes/index.js';
import { abortedError } from '../../providers/index.js';

/** Longer waits release the worker's permit. For shorter ones the release costs more than it brings. */
export const REST_MS = 250;

/** Waits, unless the caller goes. @throws UpstreamError aborted */
export async function pause(ms: number, gone: LightAbortSignal): Promise<void> {
  if (gone.aborted) throw abortedError();
  if (ms <= 0) return;
  const signal = abortSignalOf(gone);
  const wait = (): Promise<void> => sleep(ms, undefined, { signal });
  try {
    await (ms < REST_MS ? wait() : withoutPermit(wait, signal));
  } catch (error) {
    throw signal.aborted ? abortedError() : error;
  }
}
