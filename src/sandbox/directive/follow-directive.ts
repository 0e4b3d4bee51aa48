import { AsyncLocalStorage } from 'node:async_hooks';
import { withoutPermit } from '../../processes/index.js';
import { UpstreamError } from '../../providers/providers.types.js';
import type { DelayedJob } from '../../providers/providers.types.js';
import { findDirective } from './directive.js';
import { pause, REST_MS } from './pause.js';

/** The delay's share of the progress, in percent. */
const DELAY_SHARE = 80;
const TICK_MS = 100;
const NEVER = new AbortController().signal;

/** Whether this work has waited for its delay already. */
const waited = new AsyncLocalStorage<boolean>();

export interface Directed {
  /** The text without its directive. */
  rest: string;
  /** Between the parts of what is shown before it is whole. */
  chunkMs: number;
  /** Reports the work's progress, 0 to 100, as the part that follows the delay. */
  report(percent: number): void;
}

/**
 * Follows the `@sandbox{…}` directive of a generation before the work: waits for its delay and throws its failure.
 * @throws UpstreamError
 */
export async function followDirective(
  text: string,
  {
    signal = NEVER,
    onProgress,
  }: { signal?: AbortSignal | undefined; onProgress?: ((percent: number) => void) | undefined },
): Promise<Directed> {
  const { directive, rest } = findDirective(text);
  const delayMs = directive?.delayMs ?? 0;
  if (!waited.getStore()) await waitFor(delayMs, signal, onProgress);
  if (directive?.fail !== undefined)
    throw new UpstreamError(`Sandbox directive: ${directive.fail}`, { status: null, retryable: false });
  const from = delayMs > 0 ? DELAY_SHARE : 0;
  const chunkMs = directive?.chunkMs ?? 0;
  return { rest, chunkMs, report: (percent) => onProgress?.(from + ((100 - from) * percent) / 100) };
}

/**
 * Waits for the directive's delay before the work begins, so that the job holds neither a worker's slot nor files meanwhile.
 * The work does not wait for it again.
 * @throws UpstreamError aborted
 */
export async function afterDelay<T>(
  { inputParams, signal, onProgress }: DelayedJob,
  work: () => Promise<T>,
): Promise<T> {
  const delayMs = findDirective(directedText(inputParams)).directive?.delayMs ?? 0;
  await waitFor(delayMs, signal, onProgress);
  return await waited.run(delayMs > 0, work);
}

/** The field of a request that may hold a directive. */
function directedText({
  prompt,
  new_background: background,
  input,
  model_inputs: inputs,
}: DelayedJob['inputParams']): string {
  const text =
    prompt ?? background ?? input ?? (inputs as Record<string, unknown> | undefined)?.['directive'];
  return typeof text === 'string' ? text : '';
}

async function waitFor(
  delayMs: number,
  signal: AbortSignal,
  onProgress: ((percent: number) => void) | undefined,
): Promise<void> {
  const start = performance.now();
  const wait = async (): Promise<void> => {
    for (let left = delayMs; left > 0; left = delayMs - (performance.now() - start)) {
      onProgress?.(((delayMs - left) / delayMs) * DELAY_SHARE);
      await pause(Math.min(left, Math.max(TICK_MS, delayMs / 50)), signal);
    }
  };
  await (delayMs < REST_MS ? wait() : withoutPermit(wait, signal));
}
