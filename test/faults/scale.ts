/**
 * `FAULTS_SCALE` makes the longest fault tests smaller where there is no time for their full size: 0.05 is a twentieth of each number. The
 * promises are the same. What runs for a minute or two at full size always does.
 */
const SCALE = Number(process.env['FAULTS_SCALE'] ?? 1);
if (!(SCALE > 0)) throw new Error(`FAULTS_SCALE is no number above 0: ${process.env['FAULTS_SCALE']}`);

/** A number of the promise at this run's scale, at least `least`. */
export function scaled(full: number, least = 1): number {
  return Math.max(least, Math.round(full * SCALE));
}

/** A figure for the record: what `npm run test:faults` prints. */
export function record(figures: Record<string, number | string>): void {
  process.stdout.write(`figures ${JSON.stringify(figures)}\n`);
}
