import { z } from 'zod';
import { EgressError } from '../../egress/index.js';
import type { Egress, OutboundAnswer } from '../../egress/index.js';
import type { AgentWork } from '../work/work-pool.js';
import { WorkError } from '../work/work-pool.js';
import { defineTool } from './define-tool.js';
import { ToolError } from './tool.types.js';
import type { AgentTool } from './tool.types.js';

const MAX_BYTES = 3 * 1024 * 1024;
const MAX_REDIRECTS = 5;
const TIMEOUT_MS = 20_000;
const MAX_TEXT = 20_000;

const FAULTS: Record<EgressError['fault'], string> = {
  forbidden: 'The address is not allowed',
  too_large: 'The page is too large',
  timeout: 'The page took too long',
  connect: 'The page could not be reached',
  redirect: 'The page redirects without end',
  aborted: 'The page could not be reached',
};

/** Contract 4.8: fetches a page through the outbound guard and gives its readable text as Markdown. */
export function createWebFetchTool({ egress, work }: { egress: Egress; work: AgentWork }): AgentTool {
  return defineTool({
    id: 'web_fetch',
    description: 'Fetch a web page and read its text (as Markdown). Takes an http or https address.',
    credits: 3,
    input: z.object({ url: z.string().trim().min(1).max(2000).describe('Address of the page') }),
    async run({ url }, { signal }) {
      const answer = await fetchPage(egress, url, signal);
      const type = (answer.headers['content-type'] ?? '').toLowerCase();
      const isHtml = type === '' || /html|xhtml/.test(type);
      if (!isHtml && !/^text\/|json|xml|javascript|yaml/.test(type))
        throw new ToolError(`The address holds no page but ${type.split(';')[0]}`);
      const body = decode(answer.body, type);
      const page = isHtml
        ? await readable(work, { html: body, url: answer.url }, signal)
        : { title: '', text: body };
      const text = page.text.slice(0, MAX_TEXT);
      const truncated = answer.truncated || page.text.length > MAX_TEXT;
      return {
        output: { url: answer.url, title: page.title, text, truncated },
        text: `${page.title === '' ? '' : `# ${page.title}\n\n`}${text}${truncated ? '\n\n[The page goes on.]' : ''}`,
        source: answer.url,
      };
    },
  });
}

async function fetchPage(egress: Egress, url: string, signal: AbortSignal): Promise<OutboundAnswer> {
  egress.checkUrl(url);
  try {
    const answer = await egress.request(url, {
      maxBytes: MAX_BYTES,
      onLimit: 'cut',
      maxRedirects: MAX_REDIRECTS,
      totalTimeoutMs: TIMEOUT_MS,
      headers: { accept: 'text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.8,*/*;q=0.1' },
      signal,
    });
    if (answer.status < 200 || answer.status > 299)
      throw new ToolError(`The page answered with status ${answer.status}`);
    return answer;
  } catch (error) {
    if (error instanceof EgressError && !signal.aborted) throw new ToolError(FAULTS[error.fault], error);
    throw error;
  }
}

async function readable(
  work: AgentWork,
  { html, url }: { html: string; url: string },
  signal: AbortSignal,
): Promise<{ title: string; text: string }> {
  try {
    const { title, author, published, markdown } = await work.readablePage(html, url, signal);
    const about = [author, published].filter((part) => part !== '').join(', ');
    return { title, text: about === '' ? markdown : `${about}\n\n${markdown}` };
  } catch (error) {
    throw error instanceof WorkError ? new ToolError('The page could not be read', error) : error;
  }
}

/** The charset of the header, else of the page's own meta element, else UTF-8. */
function decode(body: Buffer, type: string): string {
  const head = body.subarray(0, 2048).toString('latin1');
  const named = /charset=["']?([\w-]+)/.exec(type)?.[1] ?? /<meta[^>]+charset=["']?([\w-]+)/i.exec(head)?.[1];
  try {
    return new TextDecoder(named ?? 'utf-8').decode(body).replaceAll('\u0000', '');
  } catch {
    return new TextDecoder().decode(body).replaceAll('\u0000', '');
  }
}
