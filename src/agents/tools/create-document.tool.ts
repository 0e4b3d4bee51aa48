import { z } from 'zod';
import type { FileService } from '../../files/index.js';
import type { AgentWork } from '../work/work-pool.js';
import { defineTool } from './define-tool.js';
import { toldWhereRefused } from './refused-work.js';
import { storeMade } from './stored-file.js';
import { ToolError } from './tool.types.js';
import type { AgentTool } from './tool.types.js';

const Cell = z.union([z.string().max(10_000), z.number(), z.boolean(), z.null()]);

const FORMATS = {
  pdf: { contentType: 'application/pdf', extension: 'pdf' },
  markdown: { contentType: 'text/markdown; charset=utf-8', extension: 'md' },
  csv: { contentType: 'text/csv; charset=utf-8', extension: 'csv' },
} as const;

/** Contract 4.8: PDF, Markdown and CSV files. */
export function createDocumentTool({ files, work }: { files: FileService; work: AgentWork }): AgentTool {
  return defineTool({
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
    async run({ format, title, content, rows }, context) {
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
}

async function textOf(
  work: AgentWork,
  { format, title, content }: { format: 'pdf' | 'markdown'; title: string; content: string | undefined },
  signal: AbortSignal,
): Promise<Buffer> {
  if (content === undefined || content.trim() === '')
    throw new ToolError('Invalid input: content is required');
  const markdown = /^#\s/m.test(content) ? content : `# ${title}\n\n${content}`;
  if (format === 'markdown') return Buffer.from(markdown);
  return await toldWhereRefused(work.pdf({ title, markdown }, signal));
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

/** What a spreadsheet would take for a formula is made a text: it may have come from a page. */
function cellOf(value: Value): string {
  if (value === null) return '';
  if (typeof value !== 'string') return String(value);
  const isNumber = /^[+-]?\d+([.,]\d+)?%?$/.test(value.trim());
  const safe = !isNumber && /^[\s]*[=+\-@]|^[\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n;]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
