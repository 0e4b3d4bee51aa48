import { compile } from 'vega-lite';
import type { TopLevelSpec } from 'vega-lite';
import { parse, View } from 'vega';
import type { Loader } from 'vega';
import { unsupportedCharacters, pictureFonts, refuseUnsupportedCharacters } from './glyphs.js';
import type { ChartDrawing, ChartInput } from './work.types.js';

const WIDTH = 800;
const HEIGHT = 450;
const FONT = 'DejaVu Sans';

const refuse = () => Promise.reject(new Error('charts load nothing'));
/** The specification is ours and names no address; this holds should one ever slip in. */
const NO_LOADER = { load: refuse, sanitize: refuse, http: refuse, file: refuse } as unknown as Loader;

const MARKS = { bar: 'bar', line: 'line', area: 'area', scatter: 'point', pie: 'arc' } as const;

function encodingOf({ type, data, xLabel, yLabel }: ChartInput): object {
  const grouped = data.some(({ series }) => series !== undefined);
  const numeric = data.every(({ label }) => typeof label === 'number');
  const color = grouped ? { color: { field: 'series', type: 'nominal', title: null } } : {};
  if (type === 'pie')
    return {
      theta: { field: 'value', type: 'quantitative', stack: true },
      color: { field: 'label', type: 'nominal', title: null, sort: null },
    };
  return {
    x: {
      field: 'label',
      type: numeric && type !== 'bar' ? 'quantitative' : 'ordinal',
      sort: null,
      title: xLabel || null,
      axis: { labelAngle: data.length > 12 ? -45 : 0 },
    },
    y: { field: 'value', type: 'quantitative', title: yLabel || null },
    ...color,
    ...(grouped && type === 'bar' ? { xOffset: { field: 'series' } } : {}),
  };
}

function wordsOf({ title, xLabel, yLabel, data }: ChartInput): string {
  return [title, xLabel, yLabel, ...data.flatMap(({ label, series = '' }) => [label, series])].join(' ');
}

/** Draws a chart as SVG. @throws WorkRefusal where the fonts lack some of its characters */
export async function drawChart(chart: ChartInput): Promise<ChartDrawing> {
  const { type, title, data } = chart;
  refuseUnsupportedCharacters(unsupportedCharacters(pictureFonts(), wordsOf(chart)));
  const spec = {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    background: '#ffffff',
    width: WIDTH,
    height: HEIGHT,
    padding: 20,
    ...(title === '' ? {} : { title }),
    data: { values: data },
    mark: { type: MARKS[type], ...(type === 'line' ? { point: true } : {}), tooltip: false },
    encoding: encodingOf(chart),
    config: { font: FONT, title: { fontSize: 18 }, axis: { labelFontSize: 12, titleFontSize: 13 } },
  } as TopLevelSpec;
  const view = new View(parse(compile(spec).spec), { renderer: 'none', loader: NO_LOADER });
  try {
    const svg = await view.toSVG();
    const [, width = '0', height = '0'] = /width="([\d.]+)" height="([\d.]+)"/.exec(svg) ?? [];
    return { svg, width: Math.ceil(Number(width)) || WIDTH, height: Math.ceil(Number(height)) || HEIGHT };
  } finally {
    view.finalize();
  }
}
