/**
 * Signals that a caller has left: the part of an `AbortSignal` that the hot path needs. A real one consists of two maps and a class of listeners, and
 * its listeners outlive minor collections, although most calls end without an abort.
 */
export interface LightAbortSignal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** A real `AbortSignal` that fires at the same time, for the platform and for libraries. */
export function abortSignalOf(gone: LightAbortSignal): AbortSignal {
  if (gone instanceof AbortSignal) return gone;
  const controller = new AbortController();
  if (gone.aborted) controller.abort();
  else gone.addEventListener('abort', () => controller.abort());
  return controller.signal;
}
