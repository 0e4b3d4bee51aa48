import { invalid } from '../../contract/errors.js';
import { isFields } from '../../providers/index.js';
import type { Provider } from '../../providers/index.js';
import { SEARCH_FUNCTION } from '../dialects/searches.js';
import { listAt, nameAt, objectAt } from '../dialects/checks.js';
import type { Fields } from '../dialects/checks.js';

const MAX_TOOLS = 128;

/** A tool of the request, as far as it is known here. */
interface Tool {
  type: string;
  given: Fields;
  /** Of functions and custom tools: what the model calls it by. */
  name: string | null;
}

/** What a model may call, for upstreams with the dialect and for those without. */
export interface Tools {
  /** For a chat; undefined where there are none. */
  chat: Fields[] | undefined;
  chatChoice: unknown;
  /** Names of custom tools: in a chat they are functions of one text. */
  custom: ReadonlySet<string>;
  /** The function that stands for web search on the search port; null where no search was asked for, or there is no port. */
  search: string | null;
  /** Types of those that a chat cannot have. */
  leftOut: string[];
  /** `tools` and `tool_choice` for an upstream of the dialect, and what it is not given. */
  native(provider: Pick<Provider, 'allowedTools'>): NativeTools;
}

export interface NativeTools {
  fields: { tools?: Fields[]; tool_choice?: unknown };
  leftOut: string[];
  /** Whether {@link Tools.search} is among the tools. */
  searches: boolean;
}

const isSearch = (type: string): boolean => type.startsWith('web_search');

/** Tools that the maker runs, and charges for: they pass only where the operator allows it (beyond 11.9). */
const COSTLY: ReadonlySet<string> = new Set(['file_search', 'mcp', 'code_interpreter', 'image_generation']);

function isCostly({ type, given }: Tool): boolean {
  if (type !== 'shell') return COSTLY.has(type) || isSearch(type);
  // A shell is the client's own, or a machine that the maker lends.
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

/** A custom tool takes a text as it is: in a chat it is a function with that text as its one parameter. */
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

/** A name for the search function that no tool of the caller has. */
function searchName(tools: readonly Tool[]): string {
  const taken = tools.some(({ name }) => name === SEARCH_FUNCTION.name);
  return taken ? `penstock_${SEARCH_FUNCTION.name}` : SEARCH_FUNCTION.name;
}

/** What a `tool_choice` says of which tools may or must be called. */
interface Choice {
  mode: 'auto' | 'none' | 'required';
  /** Types of hosted tools that it names. */
  hosted: string[];
  /** Names of functions and custom tools that it names; null: it names none. */
  named: string[] | null;
  /** True: one of those must be called. */
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

/**
 * Reads `tools` and `tool_choice` (beyond 11.7).
 * @param hasPort whether the installation can search the web
 * @throws ApiError invalid_request
 */
export function toolsOf(body: Fields, { hasPort }: { hasPort: boolean }): Tools {
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

/** @throws ApiError invalid_request where `tool_choice` forces a tool that is left out */
export function checkForced(body: Fields, leftOut: readonly string[]): void {
  const { tool_choice: choice } = body;
  const type = isFields(choice) ? choice['type'] : undefined;
  if (typeof type === 'string' && leftOut.includes(type))
    throw invalid(`tool_choice: ${type} is not available here`, 'tool_choice');
}
