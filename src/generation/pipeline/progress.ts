/** While an upstream reports nothing, progress approaches this value, half of the remaining way every ten seconds. */
const CEILING = 90;
const HALF_MS = 10_000;
const TICK_MS = 500;

/**
 * The progress of work that may not report any: a reported value is used; without reports it advances slowly, never to the end. Always stop it at
 * the end.
 */
export function smoothProgress(show: (percent: number) => void): {
  report(percent: number): void;
  stop(): void;
} {
  const start = performance.now();
  let reported = 0;
  const timer = setInterval(() => {
    if (reported === 0) show(CEILING * (1 - 0.5 ** ((performance.now() - start) / HALF_MS)));
  }, TICK_MS);
  timer.unref();
  return {
    report(percent) {
      reported = Math.max(reported, percent);
      if (reported > 0) show(reported);
    },
    stop: () => clearInterval(timer),
  };
}
