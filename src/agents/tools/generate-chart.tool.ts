import { z } from 'zod';
import type { ToolQuestion } from '../../providers/index.js';
import { hasSeries, pointsIn } from '../../text/numbers-in-text.js';
import type { Point } from '../../text/numbers-in-text.js';
import { titled } from '../../text/titles.js';
import { defineTool } from './define-tool.js';
import { refusalAsToolError } from './refusal-as-tool-error.js';
import { CHART } from './request-words.js';
import { storeMade } from './stored-file.js';

/** Pixels of the picture for each of the drawing's: sharp on screens of today. */
const SCALE = 2;
const MAX_SIDE = 5000;

/** Axes between numbers near the largest that there are have no finite length. */
const Amount = z.number().min(-1e100).max(1e100);

const Value = z.object({
  label: z.union([z.string().max(200), Amount]).describe('Place on the x axis, or name of a slice'),
  value: Amount.describe('Height, or size of a slice'),
  series: z.string().max(100).optional().describe('Name of the group, where there are several'),
});

const Input = z
  .object({
    type: z.enum(['bar', 'line', 'area', 'pie', 'scatter']).default('bar'),
    title: z.string().max(200).default(''),
    x_label: z.string().max(100).default(''),
    y_label: z.string().max(100).default(''),
    data: z.array(Value).min(1).max(500),
  })
  .refine(({ type, data }) => type !== 'pie' || isWhole(data), {
    path: ['data'],
    message: 'A pie takes values of 0 and more, not all of them 0',
  });

/** Whether values are parts of something. */
function isWhole(data: { value: number }[]): boolean {
  return data.every(({ value }) => value >= 0) && data.some(({ value }) => value > 0);
}

/** Contract 4.8: a chart as PNG. The specification is ours; the model gives numbers and words only. */
export const generateChart = defineTool({
  id: 'generate_chart',
  description:
    'Draw a chart (bar, line, area, pie or scatter) of given numbers. Answers the address of a PNG.',
  credits: 2,
  input: Input,
  sandbox: {
    thought: 'Numbers are to be shown: I draw a chart.',
    fits: ({ text, material }) => CHART.test(text) || hasSeries(material),
    input: chartOf,
    heading: 'Chart',
    made: 'I drew the chart:',
  },
  async run({ type, title, x_label: xLabel, y_label: yLabel, data }, context, { files, imaging, work }) {
    const points = data.map(({ series, ...point }) => (series === undefined ? point : { ...point, series }));
    const chart = { type, title, xLabel, yLabel, data: points };
    const drawing = await refusalAsToolError(work.chart(chart, context.signal));
    const scale = Math.min(SCALE, MAX_SIDE / Math.max(drawing.width, drawing.height));
    const size = { width: Math.round(drawing.width * scale), height: Math.round(drawing.height * scale) };
    const { bytes, width, height } = await imaging.render(drawing.svg, size, context.signal);
    const stored = await storeMade(files, context, {
      bytes,
      contentType: 'image/png',
      extension: 'png',
      width,
      height,
    });
    return {
      output: { url: stored.reference, content_type: 'image/png', width, height, title },
      text: `The chart is at ${stored.url}`,
    };
  },
});

/** Phases of a plan that names no numbers: a share of the time for each. */
const PHASES: readonly Point[] = [
  { label: 'Preparation', value: 5 },
  { label: 'Design', value: 8 },
  { label: 'Building', value: 15 },
  { label: 'Trial', value: 6 },
  { label: 'Launch', value: 2 },
];

function chartOf({ text, material, topic }: ToolQuestion): Record<string, unknown> {
  const named = /\b(line|pie|area|scatter|bar)\b/i.exec(text)?.[1]?.toLowerCase();
  const found = pointsIn(material);
  if (/\btimeline\b/i.test(text) && !hasSeries(material))
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
