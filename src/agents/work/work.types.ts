/** A chart as a tool is asked for it: checked and bounded already. */
export interface ChartInput {
  type: 'bar' | 'line' | 'area' | 'pie' | 'scatter';
  title: string;
  xLabel: string;
  yLabel: string;
  data: { label: string | number; value: number; series?: string }[];
}

/** Tasks that are computed off the event loop. */
export type WorkTask =
  | { kind: 'page'; html: string; url: string }
  | { kind: 'chart'; chart: ChartInput }
  | { kind: 'pdf'; title: string; markdown: string };

/** A page's readable text as Markdown. */
export interface ReadablePage {
  title: string;
  author: string;
  published: string;
  markdown: string;
}

export interface ChartDrawing {
  svg: string;
  width: number;
  height: number;
}

export type WorkReply =
  | { page: ReadablePage }
  | { chart: ChartDrawing }
  | { pdf: Uint8Array }
  /** Cannot be done as it was asked for. */
  | { refused: string }
  | { failed: string };
