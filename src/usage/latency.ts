/** As `penstock_latency_digit` has it: twelve digits for each bucket; bucket n holds what is over 1.1^(n-1) ms and at most 1.1^n. */
const DIGITS = 12;
/** The bucket before the point. */
const MIDDLE = 72;
const RATIO = 1.1;

/** The value that represents a histogram's bucket: at most 4.8 % from any value in it. */
const valueOf = (bucket: number): number =>
  bucket === 0 ? 1 : Math.round((20 * RATIO ** bucket) / (RATIO + 1)) / 10;

/**
 * Percentiles of a histogram that is one number (nearest rank); null where it holds nothing.
 * @param shares ascending, 0 to 1
 */
export function percentiles(histogram: string, shares: readonly number[]): (number | null)[] {
  const counts: [bucket: number, count: number][] = [];
  let total = 0;
  const [whole = '', fraction = ''] = histogram.split('.');
  const digits = whole + fraction;
  for (
    let end = digits.length, bucket = MIDDLE - fraction.length / DIGITS;
    end > 0;
    end -= DIGITS, bucket++
  ) {
    const count = Number(digits.slice(Math.max(0, end - DIGITS), end));
    if (count === 0) continue;
    counts.push([bucket, count]);
    total += count;
  }
  if (total === 0) return shares.map(() => null);
  let [seen, at] = [0, 0];
  return shares.map((share) => {
    const rank = Math.ceil(share * total);
    while (at < counts.length - 1 && seen + (counts[at]?.[1] ?? 0) < rank) seen += counts[at++]?.[1] ?? 0;
    return valueOf(counts[at]?.[0] ?? 0);
  });
}
