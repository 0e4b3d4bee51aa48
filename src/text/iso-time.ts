const FORM = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

/** An ISO 8601 date or time; without an offset it is UTC. Null for anything else, days that no calendar has included. */
export function readIsoTime(text: string): Date | null {
  const form = FORM.exec(text);
  if (form === null || !isInCalendar(text.slice(0, 10))) return null;
  const time = new Date(form[1] !== undefined && form[4] === undefined ? `${text}Z` : text);
  return Number.isNaN(time.getTime()) ? null : time;
}

/** JavaScript takes 30 February for 2 March. */
function isInCalendar(day: string): boolean {
  const midnight = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
}
