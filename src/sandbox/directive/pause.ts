import { setTimeout as sleep } from 'node:timers/promises';
import { abortSignalOf } from '../../collections/light-abort-signal.js';
import type { LightAbortSignal } from '../../collections/light-abort-signal.js';
import { withoutPermit } from '../../processes/index.js';
import { abortedError } from '../../providers/index.js';

/** Waits longer than this (in ms) release the worker's permit; for shorter ones the release is not worth its cost. */
export const REST_MS = 250;

/** Waits unless the caller disconnects. @throws UpstreamError aborted */
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
