import { Defuddle } from 'defuddle/node';
import { parseHTML } from 'linkedom';
import type { ReadablePage } from './work.types.js';

/** Deeper trees are made for programs that read them, not for people. */
const MAX_DEPTH = 400;
const VOID = /^(area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)$/i;

/** The text that a reader of the page would read. Nothing is loaded from anywhere. @throws Error for a page that is nested without end */
export async function readablePage(html: string, url: string): Promise<ReadablePage> {
  if (depthOf(html) > MAX_DEPTH) throw new Error('nested too deeply');
  const { document } = parseHTML(withBody(html)) as unknown as {
    document: { querySelectorAll(selector: string): Iterable<{ remove(): void }> };
  };
  // Others' scripts are never run; without them the extractor has less to look at.
  for (const element of document.querySelectorAll('script, style, noscript, iframe, object, svg'))
    element.remove();
  const page = await Defuddle(document as never, url, { markdown: true, useAsync: false });
  return {
    title: page.title ?? '',
    author: page.author ?? '',
    published: page.published ?? '',
    markdown: page.content ?? '',
  };
}

/** One piece of what may stand before a page's body; what is not closed lasts to the end. Takes linear time. */
const BEFORE_BODY =
  /\s+|<!--(?:[\s\S]*?-->|[\s\S]*$)|<[!?][^>]*>|<\/?(?:html|head)\b[^>]*>|<(?:meta|link|base)\b[^>]*>|<(title|style|script|noscript|template)\b[^>]*>[\s\S]*?(?:<\/\1\s*>|$)/iy;

/** HTML may leave `<body>` out; the extractor looks in no other place. */
function withBody(html: string): string {
  // bounded: a comment ends with the page at the latest, so that no other place in it is tried.
  if (/<(?:body|frameset)[\s/>]/i.test(html.replace(/<!--[\s\S]*?(?:-->|$)/g, ''))) return html;
  BEFORE_BODY.lastIndex = 0;
  let at = 0;
  while (at < html.length && BEFORE_BODY.test(html)) at = BEFORE_BODY.lastIndex;
  return at === html.length ? html : `${html.slice(0, at)}<body>${html.slice(at)}`;
}

/** An upper bound of the nesting, read off the tags. */
function depthOf(html: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [tag, slash, name = ''] of html.matchAll(/<(\/?)([a-z][a-z0-9-]*)(?:[^a-z0-9<>-][^<>]*)?>/gi)) {
    if (slash === '/') depth = Math.max(0, depth - 1);
    else if (!tag.endsWith('/>') && !VOID.test(name) && !/^(p|li|td|tr|th|option|dd|dt)$/i.test(name))
      deepest = Math.max(deepest, ++depth);
  }
  return deepest;
}
