/** While an upstream tells nothing, progress creeps towards this, half of the way every ten seconds. */
const CEILING = 90;
const HALF_MS = 10_000;
const TICK_MS = 500;

/**
 * Progress of work that may or may not tell how far it is: what is reported counts; silence moves it slowly, never to the end.
 * Stop it in any case.
 */
export function easeProgress(show: (percent: number) => void): {
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
