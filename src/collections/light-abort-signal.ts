/**
 * Tells that a caller has gone: as much of an `AbortSignal` as the hot path needs. A real one is two maps and a class of listeners, and what
 * listens to it outlives minor collections; most calls end without anybody having gone.
 */
export interface LightAbortSignal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** A real `AbortSignal` that fires with it, for the platform and libraries. */
export function abortSignalOf(gone: LightAbortSignal): AbortSignal {
  if (gone instanceof AbortSignal) return gone;
  const controller = new AbortController();
  if (gone.aborted) controller.abort();
  else gone.addEventListener('abort', () => controller.abort());
  return controller.signal;
}
