const DAY_MS = 86_400_000;

/** The first moment of a day such as 2026-03-01 in the browser's time zone. */
export const startOfDay = (day: string): string => new Date(`${day}T00:00:00`).toISOString();

/** The first moment of the next day. */
export function endOfDay(day: string): string {
  const next = new Date(new Date(`${day}T12:00:00`).getTime() + DAY_MS);
  next.setHours(0, 0, 0, 0);
  return next.toISOString();
}
