import { invalid } from '../../contract/errors.js';
import { isFields } from '../../providers/index.js';
import type { Provider } from '../../providers/index.js';
import { SEARCH_FUNCTION } from '../dialects/searches.js';
import { listAt, nameAt, objectAt } from '../dialects/checks.js';
import type { Fields } from '../dialects/checks.js';

const MAX_TOOLS = 128;

/** A tool of the request, with the fields that Penstock uses. */
interface Tool {
  type: string;
  given: Fields;
  /** The name of a function or custom tool; null for other tools. */
  name: string | null;
}

/** The tools of a request, for upstreams with the dialect and for upstreams without it. */
export interface Tools {
  /** The tools of a chat; undefined if there are none. */
  chat: Fields[] | undefined;
  chatChoice: unknown;
  /** Names of the custom tools. In a chat, they are functions with one text as their parameter. */
  custom: ReadonlySet<string>;
  /** The function that runs web search on the search port; null if no search was requested, or there is no port. */
  search: string | null;
  /** Types of the tools that a chat cannot have. */
  leftOut: string[];
  /** `tools` and `tool_choice` for an upstream of the dialect, and the types that were removed for it. */
  native(provider: Pick<Provider, 'allowedTools'>): NativeTools;
}

export interface NativeTools {
  fields: { tools?: Fields[]; tool_choice?: unknown };
  leftOut: string[];
  /** Whether {@link Tools.search} is among the tools. */
  searches: boolean;
}

const isSearch = (type: string): boolean => type.startsWith('web_search');

/** Tools that the maker runs and charges for. They are passed on only if the operator allows it (beyond 11.9). */
const COSTLY: ReadonlySet<string> = new Set(['file_search', 'mcp', 'code_interpreter', 'image_generation']);

function isCostly({ type, given }: Tool): boolean {
  if (type !== 'shell') return COSTLY.has(type) || isSearch(type);
  // A shell runs at the client or on a machine of the maker; the maker charges for the latter.
  return isFields(given['environment']) && given['environment']['type'] !== 'local';
}

function isAllowed({ type }: Tool, allowed: readonly string[]): boolean {
  return allowed.includes(type) || (isSearch(type) && allowed.includes('web_search'));
}

function readTools(given: unknown): Tool[] {
  if (given == null) return [];
  const tools = listAt(given, 'tools');
  if (tools.length > MAX_TOOLS) throw invalid(`tools must have at most ${MAX_TOOLS} tools`, 'tools');
  return tools.map((value, index) => {
    const where = `tools[${index}]`;
    const tool = objectAt(value, where, 'tools');
    const type = nameAt(tool['type'], `${where}.type`, 'tools');
    const isNamed = type === 'function' || type === 'custom';
    const name = isNamed ? nameAt(tool['name'], `${where}.name`, 'tools') : null;
    if (type === 'function' && tool['parameters'] != null)
      objectAt(tool['parameters'], `${where}.parameters`, 'tools');
    return { type, given: tool, name };
  });
}

function functionOf({ name, given }: Tool): Fields {
  const { description, parameters, strict } = given;
  return {
    type: 'function',
    function: {
      name,
      ...(description == null ? {} : { description }),
      ...(parameters == null ? {} : { parameters }),
      ...(strict == null ? {} : { strict }),
    },
  };
}

/** Converts a custom tool, whose input is a plain text, to a function with that text as its only parameter. */
function customOf({ name, given }: Tool): Fields {
  const { description, format } = given;
  const grammar = isFields(format) && format['type'] === 'grammar' ? String(format['definition']) : '';
  const said = typeof description === 'string' ? description : '';
  const rule = grammar === '' ? '' : `The input must fit this grammar:\n${grammar}`;
  return {
    type: 'function',
    function: {
      name,
      description: [said, rule].filter(Boolean).join('\n\n'),
      parameters: {
        type: 'object',
        properties: { input: { type: 'string' } },
        required: ['input'],
        additionalProperties: false,
      },
    },
  };
}

/** A name for the search function that differs from all the caller's tools. */
function searchName(tools: readonly Tool[]): string {
  const taken = tools.some(({ name }) => name === SEARCH_FUNCTION.name);
  return taken ? `penstock_${SEARCH_FUNCTION.name}` : SEARCH_FUNCTION.name;
}

/** The content of `tool_choice`: the tools that may or must be called. */
interface Choice {
  mode: 'auto' | 'none' | 'required';
  /** Types of the hosted tools in it. */
  hosted: string[];
  /** Names of the functions and custom tools in it; null if it lists no tools. */
  named: string[] | null;
  /** Whether one of these tools must be called. */
  forced: boolean;
}

const WORDS = ['auto', 'none', 'required'] as const;

function namedIn(given: Fields, where: string): { hosted: string[]; named: string[] } {
  const type = nameAt(given['type'], `${where}.type`, 'tool_choice');
  if (type !== 'function' && type !== 'custom') return { hosted: [type], named: [] };
  return { hosted: [], named: [nameAt(given['name'], `${where}.name`, 'tool_choice')] };
}

function readChoice(given: unknown): Choice {
  if (given == null) return { mode: 'auto', hosted: [], named: null, forced: false };
  if (typeof given === 'string') {
    const mode = WORDS.find((word) => word === given);
    if (mode === undefined)
      throw invalid('tool_choice must be none, auto, required or a tool', 'tool_choice');
    return { mode, hosted: [], named: null, forced: false };
  }
  const choice = objectAt(given, 'tool_choice');
  if (choice['type'] !== 'allowed_tools')
    return { mode: 'required', ...namedIn(choice, 'tool_choice'), forced: true };
  const mode = WORDS.find((word) => word === choice['mode']) ?? 'auto';
  const all = listAt(choice['tools'], 'tool_choice.tools', 'tool_choice').map((tool, index) => {
    const where = `tool_choice.tools[${index}]`;
    return namedIn(objectAt(tool, where, 'tool_choice'), where);
  });
  const named = all.flatMap((one) => one.named);
  return { mode, hosted: all.flatMap((one) => one.hosted), named, forced: false };
}

/** @throws ApiError invalid_request */
function checkChoice({ named, hosted, forced }: Choice, tools: readonly Tool[]): void {
  const missing = named?.find((name) => !tools.some((tool) => tool.name === name));
  if (missing !== undefined) throw invalid(`tool_choice: there is no tool named ${missing}`, 'tool_choice');
  const [type] = hosted;
  if (forced && type !== undefined && !tools.some((tool) => tool.type === type))
    throw invalid(`tool_choice: there is no tool of type ${type}`, 'tool_choice');
}

function chatChoice(choice: Choice, search: string | null, has: boolean): unknown {
  if (!has) return undefined;
  if (!choice.forced) return choice.mode === 'auto' ? undefined : choice.mode;
  const name = choice.named?.[0] ?? search;
  return { type: 'function', function: { name } };
}

const NO_TOOLS: Tools = {
  chat: undefined,
  chatChoice: undefined,
  custom: new Set(),
  search: null,
  leftOut: [],
  native: () => ({ fields: {}, leftOut: [], searches: false }),
};

/**
 * Reads `tools` and `tool_choice` (beyond 11.7).
 * @param hasPort whether the installation can search the web
 * @throws ApiError invalid_request
 */
export function toolsOf(body: Fields, { hasPort }: { hasPort: boolean }): Tools {
  if (body['tools'] == null && body['tool_choice'] == null) return NO_TOOLS;
  const tools = readTools(body['tools']);
  const choice = readChoice(body['tool_choice']);
  checkChoice(choice, tools);
  const asksSearch = tools.some(({ type }) => isSearch(type));
  const search = asksSearch && hasPort ? searchName(tools) : null;
  const isCalled = (tool: Tool): boolean =>
    choice.named === null || choice.forced || (tool.name !== null && choice.named.includes(tool.name));
  const maySearch = choice.named === null || choice.forced || choice.hosted.some(isSearch);
  const chat = tools
    .filter(isCalled)
    .flatMap((tool) =>
      tool.type === 'function' ? [functionOf(tool)] : tool.type === 'custom' ? [customOf(tool)] : [],
    );
  if (search !== null && maySearch)
    chat.push({ type: 'function', function: { ...SEARCH_FUNCTION, name: search } });
  return {
    chat: chat.length === 0 ? undefined : chat,
    chatChoice: chatChoice(choice, search, chat.length > 0),
    custom: new Set(tools.flatMap(({ type, name }) => (type === 'custom' && name !== null ? [name] : []))),
    search,
    leftOut: tools
      .filter(({ type, name }) => name === null && !(isSearch(type) && search !== null))
      .map(({ type }) => type),
    native: ({ allowedTools = [] }) => nativeTools(tools, { body, search, allowed: allowedTools }),
  };
}

function nativeTools(
  tools: readonly Tool[],
  { body, search, allowed }: { body: Fields; search: string | null; allowed: readonly string[] },
): NativeTools {
  const leftOut: string[] = [];
  let searches = false;
  const passed = tools.flatMap((tool): Fields[] => {
    if (!isCostly(tool) || isAllowed(tool, allowed)) return [tool.given];
    if (!isSearch(tool.type) || search === null) leftOut.push(tool.type);
    else searches = true;
    return [];
  });
  if (searches && search !== null)
    passed.push({ type: 'function', ...SEARCH_FUNCTION, name: search, strict: true });
  const { tool_choice: given } = body;
  const isForcedSearch = searches && isFields(given) && isSearch(String(given['type']));
  const choice = isForcedSearch ? { type: 'function', name: search } : given;
  const hasNone = passed.length === 0;
  return {
    fields: {
      ...(hasNone ? {} : { tools: passed }),
      ...(choice == null || (hasNone && isFields(choice)) ? {} : { tool_choice: choice }),
    },
    leftOut,
    searches,
  };
}

/** @throws ApiError invalid_request if `tool_choice` forces a removed tool */
export function checkForced(body: Fields, leftOut: readonly string[]): void {
  const { tool_choice: choice } = body;
  const type = isFields(choice) ? choice['type'] : undefined;
  if (typeof type === 'string' && leftOut.includes(type))
    throw invalid(`tool_choice: ${type} is not available here`, 'tool_choice');
}
