import { UpstreamError } from '../providers.types.js';
import { findDirective } from './directive.js';
import { pause } from './sandbox-chat.js';

/** A directive's delay counts as this much of the whole. */
const DELAY_SHARE = 80;
const TICK_MS = 100;
const NEVER = new AbortController().signal;

export interface Directed {
  /** The text without its directive. */
  rest: string;
  /** Takes the real work's 0 to 100 to the place that the delay left. */
  report(percent: number): void;
}

/**
 * What a generation's `@sandbox{…}` directive asks for before the work: its delay is waited for, its failure thrown.
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
  const start = performance.now();
  for (let left = delayMs; left > 0; left = delayMs - (performance.now() - start)) {
    onProgress?.(((delayMs - left) / delayMs) * DELAY_SHARE);
    await pause(Math.min(left, Math.max(TICK_MS, delayMs / 50)), signal);
  }
  if (directive?.fail !== undefined)
    throw new UpstreamError(`Sandbox directive: ${directive.fail}`, { status: null, retryable: false });
  const from = delayMs > 0 ? DELAY_SHARE : 0;
  return { rest, report: (percent) => onProgress?.(from + ((100 - from) * percent) / 100) };
}
