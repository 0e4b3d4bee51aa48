import { withoutEnding } from '../../text/characters.js';
import { splitUntrusted } from './untrusted.js';

/** What the sandbox makes out of a user's words: what they are about, and the numbers in them. */

export interface Question {
  /** The user's own words, without documents that were attached. */
  text: string;
  /** Attached documents, then the words: where numbers are looked for. */
  material: string;
  /** A few words: for titles, pictures and searches. */
  topic: string;
  /** The first address in the words. */
  url: string | null;
}

export interface Point {
  label: string;
  value: number;
}

const URL_IN_TEXT = /https?:\/\/[^\s<>"')\]]+/;
/** Of the user's own words; attached documents come on top. */
const MAX_WORDS = 20_000;
const MAX_MATERIAL = 200_000;
const MAX_TOPIC = 80;
const POLITE = /^(please|can you|could you|would you|i want you to|i'd like you to|help me)\s+/i;
const ORDER =
  /^(?:(?:write|draft|compose|prepare|make|create|generate|draw|paint|plan|search|look up|find(?: out)?|research|read|summari[sz]e|review|announce|show|give|tell)\b\s*(?:me|us)?\s*)/i;
/** `a short blog post about`, `the web for`: what is wanted before what it is about. */
const FORM =
  /^(?:(?:a|an|the|some|our|new|short|long|brief|bar|line|pie|area|scatter|blog|briefing|social media)\s+)*(?:post|posts|article|paper|report|document|briefing|chart|graph|plot|picture|image|illustration|logo|poem|essay|e-?mail|launch|plan|web|internet|news)\s+(?:about|on|of|for|with|from)\s+/i;

const line = (text: string): string => text.replace(/\s+/g, ' ').trim();

/** Whole words, at most so many characters. */
export function shortened(text: string, length: number): string {
  const points = [...line(text)];
  if (points.length <= length) return points.join('');
  const cut = points.slice(0, length).join('');
  return `${withoutEnding(cut.slice(0, Math.max(cut.lastIndexOf(' '), length / 2)), ' ,;:.')}…`;
}

export function questionOf(userText: string): Question {
  const { parts, rest } = splitUntrusted(userText);
  const text = rest
    .slice(0, MAX_WORDS)
    .replace(/\[Attached image: [^\]]{0,2100}\]/g, '')
    .trim();
  const attached = parts.map((part) => part.text);
  const found = URL_IN_TEXT.exec(text)?.[0];
  const url = found === undefined ? null : withoutEnding(found, '.,;!?');
  return { text, material: [...attached, text].join('\n'), topic: topicOf(text), url };
}

/** The words without their polite beginning, the order, and what comes after the first clause. Blanks stand one by one in `line`. */
function topicOf(text: string): string {
  const words = line(text.replace(URL_IN_TEXT, ' ')).replace(POLITE, '');
  const [head = words] = words.split(/(?<=\p{L}{2})[:;.?!](?:\s|$)|,\s+(?:with|and|in|as)\s/u);
  const subject = head
    .replace(ORDER, '')
    .replace(FORM, '')
    .replace(/^(?:with|about|on|of|for)\s+/i, '')
    .replace(/^(?:the|a|an)\s+/i, '')
    .replace(/ with (?:an? )?(?:pictures?|images?|photos?|illustrations?|charts?)\b[^]*/i, '');
  const plain = subject.replace(/ (?:by|until|before|within|in) (?:the )?\d[^]*/i, '');
  const first = plain
    .replace(/ (?:as|into) (?:a|an) (?:pdf|csv|markdown|document|file|report)\b[^]*/i, '')
    .trim();
  return shortened(first === '' ? words : first, MAX_TOPIC);
}

/** The first letter large: a title. */
export const titled = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const ROW = /([\p{L}][\p{L}\p{N} _-]{0,40}?)\s?[:=]?\s?(-?\d+(?:\.\d+)?)(?=[\s,;.%)]|$)/gu;
const MAX_POINTS = 50;

/** Numbers one after the other without names: "3, 5 and 8". */
const BARE =
  /(?<![\w.:=/-]|[:=]\s)-?\d{1,15}(?:\.\d{1,15})?(?:(?:, ?| and |, and |; ?)-?\d{1,15}(?:\.\d{1,15})?(?![\w./-]|\s?[:=]))+/;

/** Numbers with the words before them: `apples 3, pears 5` or `apples: 3`. */
export function pointsIn(material: string): Point[] {
  // Runs of blanks are shortened: the pattern below would try them in every way.
  const text = material.slice(0, MAX_MATERIAL).replace(/\s+/g, (run) => (run.includes('\n') ? '\n' : ' '));
  const rows = [...text.matchAll(ROW)].map(([, label = '', value]) => ({
    label: (label.split(/\b(?:with|of|and|for)\b/).pop() ?? label).trim() || label.trim(),
    value: Number(value),
  }));
  const bare = (BARE.exec(text)?.[0] ?? '').match(/-?\d+(?:\.\d+)?/g) ?? [];
  const places = bare.map((value, index) => ({ label: String(index + 1), value: Number(value) }));
  return (places.length > rows.length ? places : rows).slice(0, MAX_POINTS);
}

/** What can be said of numbers without a model: sums and extremes, computed. */
export function factsOf(points: Point[]): string {
  const sum = points.reduce((total, { value }) => total + value, 0);
  const sorted = [...points].sort((a, b) => b.value - a.value);
  const rounded = (value: number): string => String(Math.round(value * 100) / 100);
  const named = (point: Point | undefined): string =>
    point === undefined ? '' : `${point.label} (${point.value})`;
  return `Of ${points.length} values the highest is ${named(sorted[0])}, the lowest ${named(sorted.at(-1))}; they add up to ${rounded(sum)}, ${rounded(sum / points.length)} on average.`;
}
