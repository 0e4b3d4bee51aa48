export interface Point {
  label: string;
  value: number;
}

/** This many numbers are a series even if the text does not say so. */
const SERIES = 3;

/** Only this many characters of a text are read: each tool looks for numbers once more. */
const MAX_MATERIAL = 20_000;
const NUMBER = /-?\d{1,15}(?:\.\d{1,15})?(?=[\s,;.%)]|$)/g;
/**
 * The words that end directly before a number.
 * bounded: it reads MAX_LABEL characters.
 */
const LABEL = /([\p{L}][\p{L}\p{N} _-]{0,40}?)\s?[:=]?\s?$/u;
/** No label is longer. */
const MAX_LABEL = 44;
const MAX_POINTS = 50;

/** Numbers one after the other without names: "3, 5 and 8". */
const BARE =
  /(?<![\w.:=/-]|[:=]\s)-?\d{1,15}(?:\.\d{1,15})?(?:(?:, ?| and |, and |; ?)-?\d{1,15}(?:\.\d{1,15})?(?![\w./-]|\s?[:=]))+/;

/** Numbers with words before them: `apples 3, pears 5` or `apples: 3`. */
export function pointsIn(material: string): Point[] {
  // Runs of white space are shortened, because a label's pattern would try to split them in every way.
  const text = material.slice(0, MAX_MATERIAL).replace(/\s+/g, (run) => (run.includes('\n') ? '\n' : ' '));
  const rows = labelledIn(text);
  const bare = (BARE.exec(text)?.[0] ?? '').match(/-?\d+(?:\.\d+)?/g) ?? [];
  const places = bare.map((value, index) => ({ label: String(index + 1), value: Number(value) }));
  return (places.length > rows.length ? places : rows).slice(0, MAX_POINTS);
}

/** Finds the numbers first: most texts have few, and a label's pattern is slow. */
function labelledIn(text: string): Point[] {
  const rows: Point[] = [];
  let end = 0;
  for (const { 0: value, index } of text.matchAll(NUMBER)) {
    const label = LABEL.exec(text.slice(Math.max(end, index - MAX_LABEL), index))?.[1];
    if (label === undefined) continue;
    const last = label.split(/\b(?:with|of|and|for)\b/).pop() ?? label;
    rows.push({ label: last.trim() || label.trim(), value: Number(value) });
    if (rows.length === MAX_POINTS) break;
    end = index + value.length;
  }
  return rows;
}

/** Statements about numbers that need no model: sums and extremes. */
export function factsOf(points: Point[]): string {
  const sum = points.reduce((total, { value }) => total + value, 0);
  const sorted = [...points].sort((a, b) => b.value - a.value);
  const rounded = (value: number): string => String(Math.round(value * 100) / 100);
  const named = (point: Point | undefined): string =>
    point === undefined ? '' : `${point.label} (${point.value})`;
  return `Of ${points.length} values the highest is ${named(sorted[0])}, the lowest ${named(sorted.at(-1))}; they add up to ${rounded(sum)}, ${rounded(sum / points.length)} on average.`;
}

/** Whether a text contains enough numbers for a chart or a table. */
export const hasSeries = (text: string): boolean => pointsIn(text).length >= SERIES;
