import { z } from 'zod';
import type { FileService } from '../../files/index.js';
import type { Imaging } from '../../imaging/index.js';
import type { AgentWork } from '../work/work-pool.js';
import { defineTool } from './define-tool.js';
import { toldWhereRefused } from './refused-work.js';
import { storeMade } from './stored-file.js';
import type { AgentTool } from './tool.types.js';

/** Pixels of the picture for each of the drawing's: sharp on screens of today. */
const SCALE = 2;
const MAX_SIDE = 5000;

/** Axes between numbers near the largest that there are have no finite length. */
const Amount = z.number().min(-1e100).max(1e100);

const Point = z.object({
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
    data: z.array(Point).min(1).max(500),
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
export function createGenerateChartTool(options: {
  files: FileService;
  imaging: Imaging;
  work: AgentWork;
}): AgentTool {
  const { files, imaging, work } = options;
  return defineTool({
    id: 'generate_chart',
    description:
      'Draw a chart (bar, line, area, pie or scatter) of given numbers. Answers the address of a PNG.',
    credits: 2,
    input: Input,
    async run({ type, title, x_label: xLabel, y_label: yLabel, data }, context) {
      const points = data.map(({ series, ...point }) =>
        series === undefined ? point : { ...point, series },
      );
      const chart = { type, title, xLabel, yLabel, data: points };
      const drawing = await toldWhereRefused(work.chart(chart, context.signal));
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
}
