const PLAIN = /^(\d{1,18})(?:\.(\d{1,40}))?(?:e([+-]?\d{1,2}))?$/i;

/**
 * A decimal as a whole number of 10^-`places`, or null where it is none, is negative or is not exact at that scale. A JSON number counts as it
 * was written: its shortest text.
 */
export function scaledDecimal(value: string | number, places: number): bigint | null {
  const found = PLAIN.exec(String(value));
  if (found === null) return null;
  const [, whole = '', fraction = '', exponent = '0'] = found;
  const shift = places - fraction.length + Number(exponent);
  const digits = BigInt(whole + fraction);
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  return digits % divisor === 0n ? digits / divisor : null;
}

const ZERO = 48;

/** A whole number of 10^-`places` as a decimal without trailing zeros: `0.0025`. */
export function decimalText(scaled: bigint, places: number): string {
  const sign = scaled < 0n ? '-' : '';
  const digits = (scaled < 0n ? -scaled : scaled).toString().padStart(places + 1, '0');
  const whole = digits.slice(0, digits.length - places);
  let end = digits.length;
  while (end > digits.length - places && digits.charCodeAt(end - 1) === ZERO) end--;
  const fraction = digits.slice(digits.length - places, end);
  return `${sign}${whole}${fraction === '' ? '' : `.${fraction}`}`;
}
