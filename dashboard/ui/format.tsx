import { useEffect, useState, type ReactNode } from 'react';
import { BUCKET_UNITS, LABELS } from '../data/words.generated.js';

const NUMBER = new Intl.NumberFormat('en', { maximumFractionDigits: 2 });
const DATE_TIME = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' });
const DATE = new Intl.DateTimeFormat('en', { dateStyle: 'medium' });
const MONTH = new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric' });
const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const;
const OLD_MS = 7 * 86_400_000;

/** 1234.5 → `1,234.5` */
export const inDigits = (value: number): string => NUMBER.format(value);

/** 2026-03-01T… → `Mar 1, 2026` */
export const asDate = (iso: string): string => DATE.format(new Date(iso));

/** 2026-03-01T… → `Mar 1, 2026, 2:00 PM` */
export const asHour = (iso: string): string => DATE_TIME.format(new Date(iso));

/** 2026-03-01T… → `March 2026` */
export const asMonth = (iso: string): string => MONTH.format(new Date(iso));

/** Dollars with cents, or with four digits if the cents would be zero. */
export const inDollars = (value: number): string =>
  `$${value === 0 || value >= 1 ? value.toFixed(2) : value.toFixed(4)}`;

/** 1234 → `1.2 s` */
export function asDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${inDigits(Math.round(ms / 100) / 10)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

const SIZES = ['bytes', 'kB', 'MB', 'GB'] as const;

/** 1500 → `1.5 kB` */
export function asBytes(bytes: number): string {
  const step = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), SIZES.length - 1);
  return `${inDigits(Math.round((bytes / 1000 ** step) * 10) / 10)} ${SIZES[step]}`;
}

/** `image_edit` → `Image edit` */
export function asWords(name: string): string {
  const words = SPELT[name] ?? name.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const SPELT: Readonly<Record<string, string>> = LABELS;
const COUNTED: Readonly<Record<string, readonly [one: string, many: string]>> = BUCKET_UNITS;

/** An amount of a bucket: `1.5 credits` */
export function asAmount(amount: number, bucket: string): string {
  const [one, many] = COUNTED[bucket] ?? [bucket, bucket];
  return `${inDigits(amount)} ${amount === 1 ? one : many}`;
}

function relative(ms: number): string {
  for (const [unit, length] of UNITS)
    if (Math.abs(ms) >= length) return RELATIVE.format(Math.round(ms / length), unit);
  return ms > 0 ? 'in a moment' : 'just now';
}

/** A time relative to now, with the exact time as its title. It is updated while it is shown. */
export function Time({ iso }: { iso: string }): ReactNode {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000);
    return () => clearInterval(timer);
  }, []);
  const date = new Date(iso);
  const away = date.getTime() - now;
  return (
    <time dateTime={iso} title={DATE_TIME.format(date)}>
      {Math.abs(away) < OLD_MS ? relative(away) : DATE.format(date)}
    </time>
  );
}
