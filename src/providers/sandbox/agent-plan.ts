import type { ChatBody } from '../providers.types.js';
import { textOf } from './prompt.js';

/** What the sandbox wants to do next, and why. */
export interface PlannedCall {
  name: string;
  arguments: Record<string, unknown>;
  thought: string;
}

interface Message {
  role?: unknown;
  content?: unknown;
  tool_calls?: { id?: string; function?: { name?: string } }[];
  tool_call_id?: unknown;
}

/** What an agent's run has come to since the user's latest message. */
export interface AgentProgress {
  /** Names of the tools on offer. */
  offered: string[];
  /** Tool calls with their results, in order. */
  done: { name: string; result: string }[];
  /** Rounds that ended in tool calls. */
  rounds: number;
}

/** Reads how far a conversation with tools has come. */
export function readProgress(body: ChatBody): AgentProgress {
  const messages = body.messages as Message[];
  const after = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
  const rounds = after.filter(({ tool_calls: calls }) => Array.isArray(calls) && calls.length > 0);
  const names = new Map(
    rounds.flatMap(({ tool_calls: calls = [] }) => calls.map((call) => [call.id, call.function?.name ?? ''])),
  );
  const results = after.filter(({ role }) => role === 'tool');
  const tools = Array.isArray(body['tools']) ? (body['tools'] as { function?: { name?: unknown } }[]) : [];
  return {
    offered: tools.flatMap(({ function: tool }) => (typeof tool?.name === 'string' ? [tool.name] : [])),
    done: results.map((result) => ({
      name: names.get(result.tool_call_id as string) ?? 'tool',
      result: textOf(result.content),
    })),
    rounds: rounds.length,
  };
}

interface Wish {
  tool: string;
  /** The question calls for the tool. */
  fits: RegExp;
  thought: string;
  input(text: string, done: AgentProgress['done']): Record<string, unknown> | null;
}

const URL_IN_TEXT = /https?:\/\/[^\s<>"')\]]+/;
const MAX_QUERY = 300;

/** The request without its polite beginning. */
function subject(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line
    .replace(/^(please|can you|could you|would you|i want you to|i'd like you to)\s+/i, '')
    .slice(0, MAX_QUERY)
    .trim();
}

/** What was found so far, for tools that make something of it. */
function material(text: string, done: AgentProgress['done']): string {
  const found = done
    .filter(({ result }) => result !== '')
    .map(({ name, result }) => `## ${name}\n\n${result}`);
  return [subject(text), ...found].join('\n\n').slice(0, 6000);
}

/** Numbers with the words before them: `apples 3, pears 5` or `apples: 3`. */
function series(text: string): { label: string; value: number }[] {
  const found = [
    ...text.matchAll(/([\p{L}][\p{L}\p{N} _-]{0,40}?)\s*[:=]?\s*(-?\d+(?:\.\d+)?)(?=[\s,;.%)]|$)/gu),
  ];
  const points = found.map(([, label = '', value]) => ({
    label: (label.split(/\b(?:with|of|and|for)\b/).pop() ?? label).trim() || label.trim(),
    value: Number(value),
  }));
  if (points.length > 0) return points.slice(0, 50);
  return ['A', 'B', 'C', 'D'].map((label, index) => ({
    label,
    value: ((text.length * (index + 3)) % 17) + 1,
  }));
}

const chartType = (text: string): string =>
  (/\b(line|pie|area|scatter)\b/i.exec(text)?.[1] ?? 'bar').toLowerCase();
const documentFormat = (text: string): string => {
  if (/\bcsv\b|spreadsheet/i.test(text)) return 'csv';
  return /\bmarkdown\b|\bmd\b/i.test(text) ? 'markdown' : 'pdf';
};

/** In the order in which an agent would do them; each at most once. */
const WISHES: readonly Wish[] = [
  {
    tool: 'web_search',
    fits: /\b(search|look up|find out|google|latest|news|research|web)\b/i,
    thought: 'The question asks for what the web says: I search for it.',
    input: (text) => ({ query: subject(text.replace(URL_IN_TEXT, '')) || 'news' }),
  },
  {
    tool: 'web_fetch',
    fits: /https?:\/\/|\b(read|open|fetch|page|website)\b/i,
    thought: 'There is a page to read: I fetch it.',
    input(text, done) {
      const searched = done.find(({ name }) => name === 'web_search')?.result ?? '';
      const url = URL_IN_TEXT.exec(text)?.[0] ?? URL_IN_TEXT.exec(searched)?.[0];
      return url === undefined ? null : { url: url.replace(/[.,;!?]+$/, '') };
    },
  },
  {
    tool: 'analyze_image',
    fits: /\b(image|picture|photo|screenshot)\b[^]*https?:\/\/|https?:\/\/\S+\.(png|jpe?g|webp)/i,
    thought: 'There is a picture to look at: I analyse it.',
    input(text) {
      const url = URL_IN_TEXT.exec(text)?.[0];
      return url === undefined ? null : { image: url, question: subject(text.replace(URL_IN_TEXT, '')) };
    },
  },
  {
    tool: 'generate_text',
    fits: /\b(draft|write|compose|summari[sz]e|translate|poem|essay|e-?mail)\b/i,
    thought: 'A text is wanted: I write it.',
    input: (text, done) => ({ prompt: material(text, done), max_tokens: 300 }),
  },
  {
    tool: 'generate_image',
    fits: /\b(draw|paint|illustrat\w*|picture of|image of|generate an? (image|picture)|photo of|logo)\b/i,
    thought: 'A picture is wanted: I make it.',
    input: (text) => ({ prompt: subject(text) }),
  },
  {
    tool: 'generate_chart',
    fits: /\b(chart|plot|graph|diagram|visuali[sz]e|histogram)\b/i,
    thought: 'Numbers are to be shown: I draw a chart.',
    input: (text) => ({ type: chartType(text), title: subject(text).slice(0, 80), data: series(text) }),
  },
  {
    tool: 'create_document',
    fits: /\b(document|report|pdf|markdown|csv|spreadsheet|briefing|paper|memo|file)\b/i,
    thought: 'A document is wanted: I write it.',
    input(text, done) {
      const format = documentFormat(text);
      const title = subject(text).slice(0, 80);
      if (format !== 'csv') return { format, title, content: `# ${title}\n\n${material(text, done)}` };
      return {
        format,
        title,
        rows: [['label', 'value'], ...series(text).map(({ label, value }) => [label, value])],
      };
    },
  },
];

/**
 * The tool that fits the user's question and was not called yet, or null: then the answer is due. Tools with other names (an operator's)
 * are called where the question names them.
 */
export function planCall(userText: string, { offered, done }: AgentProgress): PlannedCall | null {
  const called = new Set(done.map(({ name }) => name));
  for (const { tool, fits, thought, input } of WISHES) {
    if (!offered.includes(tool) || called.has(tool) || !fits.test(userText)) continue;
    if (tool === 'web_fetch' && offered.includes('analyze_image') && isImageUrl(userText)) continue;
    const given = input(userText, done);
    if (given !== null) return { name: tool, arguments: given, thought };
  }
  const named = offered.find(
    (name) => name.startsWith('mcp__') && !called.has(name) && mentions(userText, name),
  );
  if (named === undefined) return null;
  return {
    name: named,
    arguments: argumentsIn(userText),
    thought: `The question names ${named}: I call it.`,
  };
}

const isImageUrl = (text: string): boolean => /https?:\/\/\S+\.(png|jpe?g|webp)/i.test(text);

function mentions(text: string, name: string): boolean {
  const own = name.slice(name.lastIndexOf('__') + 2);
  return own !== '' && text.toLowerCase().includes(own.toLowerCase());
}

/** A JSON object in the question is what the tool gets. */
function argumentsIn(text: string): Record<string, unknown> {
  const json = /\{[^]*\}/.exec(text)?.[0];
  if (json === undefined) return {};
  try {
    return JSON.parse(json) as Record<string, unknown>;
  } catch {
    return {};
  }
}
