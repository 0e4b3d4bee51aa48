import { z } from 'zod';
import { ApiError } from '../../contract/errors.js';
import { EgressError, isEncoded } from '../../egress/index.js';
import type { Egress } from '../../egress/index.js';
import type { ExtractedText, SourceDocument } from '../agents.types.js';
import type { AgentWork } from '../work/work-pool.js';
import { WorkError } from '../work/work-pool.js';
import { defineTool } from './define-tool.js';
import { ToolError } from './tool.types.js';
import type { ToolParts } from './tool.types.js';

/** Of a page: what is longer is cut. */
const MAX_PAGE_BYTES = 3 * 1024 * 1024;
/** Of a document, which cannot be read in part. */
const MAX_DOCUMENT_BYTES = 10 * 1024 * 1024;
const DOCUMENT = /^application\/(?:pdf|vnd\.openxmlformats-officedocument\.wordprocessingml\.document)\b/;
const MAX_REDIRECTS = 5;
const TIMEOUT_MS = 20_000;
const MAX_TEXT = 20_000;
/** Of a type's name: more than those of any page or file have. */
const MAX_TYPE = 100;

const FAULTS: Record<EgressError['fault'], string> = {
  forbidden: 'The address is not allowed',
  too_large: 'The page is too large',
  timeout: 'The page took too long',
  connect: 'The page could not be reached',
  redirect: 'The page redirects without end',
  aborted: 'The page could not be reached',
};

/** The content of an address, before its text is extracted. */
interface Found {
  url: string;
  type: string;
  body: Buffer;
  truncated: boolean;
}

/** Contract 4.8: fetches a page through the outbound guard and gives its readable text as Markdown. PDF and DOCX are read as text. */
export const webFetch = defineTool({
  id: 'web_fetch',
  description:
    'Fetch a web page (or a PDF or DOCX document) and read its text, as Markdown. Takes an http or https address.',
  credits: 3,
  input: z.object({ url: z.string().trim().min(1).max(2000).describe('Address of the page') }),
  sandbox: {
    gathers: true,
    thought: 'There is a page to read: I fetch it.',
    fits: ({ url, foundUrl, claimed }) => (url === null ? foundUrl !== null : !claimed.url),
    input: ({ url, foundUrl }) => ({ url: url ?? foundUrl }),
    heading: 'From the page',
  },
  async run({ url }, { orgId, signal }, parts) {
    // Files of the run's organisation are read from the store, by their signed addresses.
    const found = (await ownFile(parts, orgId, url)) ?? (await fetchPage(parts.egress, url, signal));
    const page = await pageOf(parts, found, { orgId, signal });
    const text = page.text.slice(0, MAX_TEXT);
    const truncated = page.cut || page.text.length > MAX_TEXT;
    return {
      output: { url: found.url, title: page.title, text, truncated },
      text: `${page.title === '' ? '' : `# ${page.title}\n\n`}${text}${truncated ? '\n\n[The page goes on.]' : ''}`,
      source: found.url,
    };
  },
});

async function ownFile({ files }: ToolParts, orgId: string, url: string): Promise<Found | null> {
  const own = await files.resolveOwn(orgId, url);
  if (own === null) return null;
  if (own.sizeBytes > MAX_DOCUMENT_BYTES) throw new ToolError('The file is too large');
  return { url, type: own.contentType, body: await files.read(orgId, own.id), truncated: false };
}

async function pageOf(
  parts: ToolParts,
  { url, type, body, truncated }: Found,
  { orgId, signal }: { orgId: string; signal: AbortSignal },
): Promise<{ title: string; text: string; cut: boolean }> {
  if (DOCUMENT.test(type)) {
    if (truncated) throw new ToolError('The document is too large');
    const document = { orgId, bytes: body, filename: 'document', signal };
    return { title: '', ...(await documentText(parts.knowledge, document)) };
  }
  const text = decode(body.subarray(0, MAX_PAGE_BYTES), type);
  const cut = truncated || body.length > MAX_PAGE_BYTES;
  if (type === '' || /html/.test(type))
    return { ...(await readable(parts.work, { html: text, url }, signal)), cut };
  if (/^text\/|json|xml|javascript|yaml/.test(type)) return { title: '', text, cut };
  const kind = (type.split(';')[0] ?? '').trim().slice(0, MAX_TYPE);
  throw new ToolError(`The address holds no page but ${kind}`, undefined, url);
}

async function documentText(
  knowledge: ToolParts['knowledge'],
  document: SourceDocument,
): Promise<ExtractedText> {
  try {
    return await knowledge.extract(document, MAX_TEXT);
  } catch (error) {
    throw error instanceof ApiError ? new ToolError('The document could not be read', error) : error;
  }
}

async function fetchPage(egress: Egress, url: string, signal: AbortSignal): Promise<Found> {
  egress.checkUrl(url);
  try {
    const answer = await egress.request(url, {
      maxBytes: MAX_DOCUMENT_BYTES,
      onLimit: 'cut',
      maxRedirects: MAX_REDIRECTS,
      // A page may take all of its time before it says anything.
      headersTimeoutMs: TIMEOUT_MS,
      totalTimeoutMs: TIMEOUT_MS,
      headers: { accept: 'text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.8,*/*;q=0.1' },
      signal,
    });
    if (answer.status < 200 || answer.status > 299)
      throw new ToolError(`The page answered with status ${answer.status}`);
    if (isEncoded(answer.headers['content-encoding'])) throw new ToolError('The page cannot be unpacked');
    const type = (answer.headers['content-type'] ?? '').toLowerCase();
    return { url: answer.url, type, body: answer.body, truncated: answer.truncated };
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
  const named =
    /charset=["']?([\w-]+)/.exec(type)?.[1] ?? /<meta[^<>]+charset=["']?([\w-]+)/i.exec(head)?.[1];
  try {
    return new TextDecoder(named ?? 'utf-8').decode(body).replaceAll('\u0000', '');
  } catch {
    return new TextDecoder().decode(body).replaceAll('\u0000', '');
  }
}
