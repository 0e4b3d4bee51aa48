import { z } from 'zod';
import type { ToolQuestion } from '../../providers/index.js';
import { factsOf, hasSeries, pointsIn } from '../../text/numbers-in-text.js';
import type { Point } from '../../text/numbers-in-text.js';
import { titled } from '../../text/titles.js';
import type { AgentWork } from '../work/work-pool.js';
import { defineTool } from './define-tool.js';
import { refusalAsToolError } from './refusal-as-tool-error.js';
import { storeMade } from './stored-file.js';
import { ToolError } from './tool.types.js';

const Cell = z.union([z.string().max(10_000), z.number(), z.boolean(), z.null()]);

const FORMATS = {
  pdf: { contentType: 'application/pdf', extension: 'pdf' },
  markdown: { contentType: 'text/markdown; charset=utf-8', extension: 'md' },
  csv: { contentType: 'text/csv; charset=utf-8', extension: 'csv' },
} as const;

const DOCUMENT =
  /\b(document|report|pdf|markdown|csv|spreadsheet|briefing|paper|memo|file|minutes|protocol|invoice)\b/i;
const MINUTES = /\b(minutes|protocol)\b/i;
const MAX_MATERIAL = 6000;

/** Contract 4.8: PDF, Markdown and CSV files. */
export const createDocument = defineTool({
  id: 'create_document',
  description:
    'Write a file: PDF or Markdown from Markdown text in `content`, or CSV from `rows`. Answers its address.',
  credits: 3,
  input: z.object({
    format: z.enum(['pdf', 'markdown', 'csv']),
    title: z.string().trim().min(1).max(200),
    content: z.string().max(200_000).optional().describe('Markdown; for pdf and markdown'),
    rows: z.array(z.array(Cell).max(200)).max(10_000).optional().describe('Lines of cells; for csv'),
  }),
  sandbox: {
    // Minutes are set by what was noted, not written anew.
    claims: { text: (text) => MINUTES.test(text) },
    thought: 'A document is wanted: I write it.',
    fits: ({ wanted }) => DOCUMENT.test(wanted),
    input: documentOf,
    heading: 'Document',
    made: 'I wrote the document:',
  },
  async run({ format, title, content, rows }, context, { files, work }) {
    const bytes =
      format === 'csv'
        ? csvOf(rows, content)
        : await textOf(work, { format, title, content }, context.signal);
    const stored = await storeMade(files, context, { bytes, ...FORMATS[format] });
    const { contentType } = FORMATS[format];
    return {
      output: { url: stored.reference, title, format, content_type: contentType, size_bytes: bytes.length },
      text: `The document is at ${stored.url}`,
    };
  },
});

async function textOf(
  work: AgentWork,
  { format, title, content }: { format: 'pdf' | 'markdown'; title: string; content: string | undefined },
  signal: AbortSignal,
): Promise<Buffer> {
  if (content === undefined || content.trim() === '')
    throw new ToolError('Invalid input: content is required');
  const markdown = /^#\s/m.test(content) ? content : `# ${title}\n\n${content}`;
  if (format === 'markdown') return Buffer.from(markdown);
  return await refusalAsToolError(work.pdf({ title, markdown }, signal));
}

type Value = string | number | boolean | null;

function csvOf(rows: Value[][] | undefined, content: string | undefined): Buffer {
  if (rows === undefined || rows.length === 0) {
    if (content === undefined || content.trim() === '')
      throw new ToolError('Invalid input: rows is required');
    return csvOf(
      content.split('\n').map((line) => line.split(/[,;\t]/)),
      undefined,
    );
  }
  return Buffer.from(`${rows.map((row) => row.map(cellOf).join(',')).join('\r\n')}\r\n`);
}

/** A cell that a spreadsheet would run as a formula is written as text: it may come from a web page. */
function cellOf(value: Value): string {
  if (value === null) return '';
  if (typeof value !== 'string') return String(value);
  const isNumber = /^[+-]?\d+([.,]\d+)?%?$/.test(value.trim());
  const safe = !isNumber && /^[\s]*[=+\-@]|^[\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n;]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function formatOf(text: string): 'csv' | 'markdown' | 'pdf' {
  if (/\bcsv\b|spreadsheet/i.test(text)) return 'csv';
  return /\bmarkdown\b|\bmd\b/i.test(text) ? 'markdown' : 'pdf';
}

function documentOf(question: ToolQuestion): Record<string, unknown> {
  const { text, material, topic } = question;
  const format = formatOf(text);
  const minutes = MINUTES.test(text);
  const title = minutes ? 'Minutes' : titled(topic);
  const points = pointsIn(material);
  if (format === 'csv') return { format, title, rows: tableOf(points, material) };
  const numbers = hasSeries(material) ? [`## Numbers\n\n${rowsOf(points)}\n\n${factsOf(points)}`] : [];
  const body = minutes ? [minutesOf(material)] : [`## Request\n\n${material.slice(0, MAX_MATERIAL / 2)}`];
  const content = [`# ${title}`, ...body, ...numbers, ...(minutes ? [] : question.findings())].join('\n\n');
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

const DECIDED = /\b(we chose|chose|decided|agreed|settled|approved|will use)\b/i;
const TASK = /\b(will|shall|has to|needs? to|must|by (?:monday|tuesday|wednesday|thursday|friday|\d))\b/i;
const OPEN = /\b(unclear|open|unknown|to be settled|undecided|tbd)\b|\?$/i;
/** The order itself is no part of the notes. */
const ORDER = /^(?:please\s+)?(?:write|make|create|draft|prepare|turn)\b/i;

/** Notes as minutes: each sentence under the heading that its words call for. Nothing is added to what was noted. */
function minutesOf(notes: string): string {
  const sentences = notes
    .replace(/^\s*notes?\s*:\s*/i, '')
    .split(/(?<=[.!?])\s+|\n+/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '' && !ORDER.test(sentence));
  const sections: [string, string[]][] = [
    ['Decisions', []],
    ['Tasks', []],
    ['Open questions', []],
    ['Notes', []],
  ];
  for (const sentence of sentences) {
    const at = OPEN.test(sentence) ? 2 : DECIDED.test(sentence) ? 0 : TASK.test(sentence) ? 1 : 3;
    sections[at]?.[1].push(`- ${sentence}`);
  }
  return sections
    .filter(([, lines]) => lines.length > 0)
    .map(([heading, lines]) => `## ${heading}\n\n${lines.join('\n')}`)
    .join('\n\n');
}
