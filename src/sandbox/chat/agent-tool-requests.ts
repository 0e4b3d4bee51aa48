import { factsOf, pointsIn, shortened, titled } from './agent-text.js';
import type { Point, Question } from './agent-text.js';
import { minutesOf } from './agent-minutes.js';

/** What the sandbox knows when it decides on its next tool. */
export interface Asked extends Question {
  offered: readonly string[];
  done: readonly { name: string; result: string }[];
  /** Knowledge files or memories hold something on it. */
  answered: boolean;
}

/** A tool, when it fits, and what it is given. */
export interface ToolRequest {
  tool: string;
  fits(asked: Asked): boolean;
  thought: string;
  /** Null where nothing can be made for it after all. */
  input(asked: Asked): Record<string, unknown> | null;
}

const MAX_QUERY = 300;
const MAX_MATERIAL = 6000;
/** So many numbers are a series without being called one. */
const SERIES = 3;

const SEARCH =
  /\b(search|look up|find out|google|latest|newest|what(?:'s| is) new|news|trends? in|research|the web|sources?|briefing)\b/i;
const QUESTION = /\?\s*$|\?\s|^(?:who|what|when|where|why|how|which|is|are|does|do|can|should)\b/i;
const OWN = /\b(?:my name|about me|do you know me|remember|did i|have i|told you)\b/i;
const ABOUT = /^(?:write|draft|compose|prepare|plan)\b[^]*\b(?:about|on|article|blog)\b/i;
const PICTURE =
  /\b(picture|photo|photograph|image|screenshot|illustration|illustrat\w+|drawing|logo|poster|banner)\b/i;
const PICTURE_URL = /\.(?:png|jpe?g|webp)(?:[?#]|$)/i;
const CHART = /\b(chart|plot|graph|diagram|visuali[sz]e|histogram|timeline|trend)\b/i;
const TEXT =
  /\b(draft|write|compose|summari[sz]e|translate|poem|essay|e-?mail|post|article|announce\w*|reply|sort|triage|classify|answer)\b/i;
const DOCUMENT =
  /\b(document|report|pdf|markdown|csv|spreadsheet|briefing|paper|memo|file|minutes|protocol|invoice)\b/i;

/** What is there already, to be looked at or read: `the attached document`, `this picture`. */
const GIVEN =
  /\b(?:attached|enclosed|uploaded|given|this|that|these|those|my|above)\s+(?:\w+\s+)?(?:pictures?|photos?|photographs?|images?|screenshots?|drawings?|documents?|reports?|pdf|csv|papers?|memos?|files?|invoices?|minutes)\b/gi;

const MINUTES = /\b(minutes|protocol)\b/i;

/** In the order in which an agent would do them; each at most once. */
export const REQUESTED_TOOLS: readonly ToolRequest[] = [
  {
    tool: 'web_search',
    thought: 'The question asks for what the web says: I search for it.',
    fits({ text, answered, url }) {
      if (SEARCH.test(text)) return true;
      return (
        !answered &&
        url === null &&
        !OWN.test(text) &&
        !hasSeries(text) &&
        (QUESTION.test(text) || ABOUT.test(text))
      );
    },
    input: ({ topic, text }) => ({
      query: shortened(QUESTION.test(text) ? text : topic, MAX_QUERY) || 'news',
    }),
  },
  {
    tool: 'web_fetch',
    thought: 'There is a page to read: I fetch it.',
    fits: ({ url, done, offered }) =>
      url === null
        ? done.some(({ name }) => name === 'web_search')
        : !(offered.includes('analyze_image') && PICTURE_URL.test(url)),
    input({ url, done }) {
      const found = url ?? addressIn(done.find(({ name }) => name === 'web_search')?.result ?? '');
      return found === null ? null : { url: found };
    },
  },
  {
    tool: 'analyze_image',
    thought: 'There is a picture to look at: I analyse it.',
    fits: ({ text, url }) => url !== null && (PICTURE.test(text) || PICTURE_URL.test(url)),
    input: ({ url, topic }) => ({ image: url, question: topic }),
  },
  {
    tool: 'generate_text',
    thought: 'A text is wanted: I write it.',
    // Minutes are set by what was noted, not written anew.
    fits: ({ text, offered }) =>
      TEXT.test(text) && !(MINUTES.test(text) && offered.includes('create_document')),
    input: (asked) => ({
      prompt: [asked.material, ...findings(asked)].join('\n\n').slice(0, MAX_MATERIAL),
      max_tokens: 300,
    }),
  },
  {
    tool: 'generate_image',
    thought: 'A picture is wanted: I make it.',
    fits: ({ text }) => PICTURE.test(wanted(text)) || (/\b(?:draw|paint)\b/i.test(text) && !CHART.test(text)),
    input: ({ topic }) => ({ prompt: topic }),
  },
  {
    tool: 'generate_chart',
    thought: 'Numbers are to be shown: I draw a chart.',
    fits: ({ text, material }) => CHART.test(text) || hasSeries(material),
    input: chartOf,
  },
  {
    tool: 'create_document',
    thought: 'A document is wanted: I write it.',
    fits: ({ text }) => DOCUMENT.test(wanted(text)),
    input: documentOf,
  },
];

/** The words without the things that they were given with. */
const wanted = (text: string): string => text.replace(GIVEN, ' ');
const hasSeries = (text: string): boolean => pointsIn(text).length >= SERIES;
const addressIn = (text: string): string | null => /https?:\/\/[^\s<>"')\]\\]+/.exec(text)?.[0] ?? null;

/** Phases of a plan that names no numbers: a share of the time for each. */
const PHASES: readonly Point[] = [
  { label: 'Preparation', value: 5 },
  { label: 'Design', value: 8 },
  { label: 'Building', value: 15 },
  { label: 'Trial', value: 6 },
  { label: 'Launch', value: 2 },
];

function chartOf({ text, material, topic }: Asked): Record<string, unknown> {
  const named = /\b(line|pie|area|scatter|bar)\b/i.exec(text)?.[1]?.toLowerCase();
  const found = pointsIn(material);
  if (/\btimeline\b/i.test(text) && found.length < SERIES)
    return { type: named ?? 'bar', title: titled(topic), x_label: 'Phase', y_label: 'Days', data: PHASES };
  const overTime = /\b(trend|over time|monthly|weekly|daily|yearly|per (?:day|week|month|year))\b/i.test(
    text,
  );
  const shares = /\b(shares?|distribution|split|percent(?:age)?s?)\b/i.test(text);
  const type = named ?? (overTime ? 'line' : shares ? 'pie' : 'bar');
  if (found.length > 0) return { type, title: titled(topic), data: found };
  return { type, title: 'Sample values: no numbers were given', data: sample(text) };
}

/** A chart is wanted, but of what was not said. */
function sample(text: string): Point[] {
  return ['A', 'B', 'C', 'D'].map((label, index) => ({
    label,
    value: ((text.length * (index + 3)) % 17) + 1,
  }));
}

function formatOf(text: string): 'csv' | 'markdown' | 'pdf' {
  if (/\bcsv\b|spreadsheet/i.test(text)) return 'csv';
  return /\bmarkdown\b|\bmd\b/i.test(text) ? 'markdown' : 'pdf';
}

function documentOf(asked: Asked): Record<string, unknown> {
  const { text, material, topic } = asked;
  const format = formatOf(text);
  const minutes = MINUTES.test(text);
  const title = minutes ? 'Minutes' : titled(topic);
  const points = pointsIn(material);
  if (format === 'csv') return { format, title, rows: tableOf(points, material) };
  const numbers = points.length >= SERIES ? [`## Numbers\n\n${rowsOf(points)}\n\n${factsOf(points)}`] : [];
  const body = minutes ? [minutesOf(material)] : [`## Request\n\n${material.slice(0, MAX_MATERIAL / 2)}`];
  const content = [`# ${title}`, ...body, ...numbers, ...(minutes ? [] : findings(asked))].join('\n\n');
  return { format, title, content: content.slice(0, MAX_MATERIAL) };
}

/** The numbers that were named, else the lines: a table is never a heading alone. */
function tableOf(points: Point[], material: string): (string | number)[][] {
  if (points.length > 0) return [['label', 'value'], ...points.map(({ label, value }) => [label, value])];
  const lines = material.split('\n').filter((text) => text.trim() !== '');
  return [['text'], ...lines.map((text) => [text.trim()])];
}

const rowsOf = (points: Point[]): string =>
  points.map(({ label, value }) => `- ${label}: ${value}`).join('\n');

const HEADINGS: ReadonlyMap<string, string> = new Map([
  ['web_search', 'What the web says'],
  ['web_fetch', 'From the page'],
  ['analyze_image', 'What the picture shows'],
  ['generate_text', 'Draft'],
  ['generate_image', 'Picture'],
  ['generate_chart', 'Chart'],
]);

/** Their results come from outside and are marked so; without the mark it is a fault that they tell of. */
const MARKED = new Set(['web_search', 'web_fetch', 'analyze_image']);

/** `src/agents` begins with it where nothing but what a run was given was searched, and says so where that has nothing. */
const UNSEARCHED = /^Sandbox result: this installation has no search provider[^.]*\.\s*/;
const NOTHING_GIVEN = /^Nothing that this run was given/;

/** What the tools found so far, under headings, without the marks that a model needs. */
function findings({ done }: Asked): string[] {
  return done
    .filter(({ name, result }) => result !== '' && (!MARKED.has(name) || result.includes('<untrusted')))
    .map(({ name, result }) => {
      const text = result
        .slice(0, 200_000)
        .replace(/<\/?untrusted[^>]{0,400}>/g, '')
        .trim();
      const given = text.replace(UNSEARCHED, '');
      if (given === text) return `## ${HEADINGS.get(name) ?? name}\n\n${text}`;
      return NOTHING_GIVEN.test(given) ? '' : `## What was given says\n\n${given}`;
    })
    .filter((part) => part !== '');
}
