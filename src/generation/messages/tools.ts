import { invalid } from '../../contract/errors.js';
import { isFields } from '../../providers/index.js';
import type { Provider } from '../../providers/index.js';
import { listAt, nameAt, objectAt, oneOf } from '../dialects/checks.js';
import type { Fields } from '../dialects/checks.js';
import { SEARCH_FUNCTION } from '../dialects/searches.js';

/** A tool of the request, with the fields that Penstock uses. */
interface Tool {
  /** `custom`, or the type of a tool whose schema its maker defines. */
  type: string;
  name: string | null;
  given: Fields;
}

/** The tools of a request, for upstreams with the dialect and for upstreams without it. */
export interface MessageTools {
  /** The tools of a chat; undefined if there are none. */
  chat: Fields[] | undefined;
  chatChoice: unknown;
  /** False if the model may make only one call at a time. */
  parallel: boolean;
  /** The function that runs web search on the search port; null if no search was requested, or there is no port. */
  search: string | null;
  /** Types of the tools that a chat cannot have. */
  leftOut: string[];
  /** The tool fields for an upstream of the dialect, and the types that were removed for it. */
  native(provider: Pick<Provider, 'allowedTools'>): NativeTools;
}

export interface NativeTools {
  fields: Fields;
  leftOut: string[];
  /** Whether {@link MessageTools.search} is among the tools. */
  searches: boolean;
}

/** Tools that the maker runs and charges for. They are passed on only if the operator allows it (beyond 11.9). */
const COSTLY = /^(web_search|web_fetch|code_execution|mcp|advisor)(?:_|$)/;

const familyOf = (type: string): string | null => COSTLY.exec(type)?.[1] ?? null;
const isSearch = ({ type }: Tool): boolean => familyOf(type) === 'web_search';
const isCustom = ({ type }: Tool): boolean => type === 'custom';

function isAllowed(type: string, allowed: readonly string[]): boolean {
  const family = familyOf(type);
  return family === null || allowed.includes(type) || allowed.includes(family);
}

function readTools(given: unknown): Tool[] {
  if (given == null) return [];
  return listAt(given, 'tools').map((value, index) => {
    const where = `tools[${index}]`;
    const tool = objectAt(value, where, 'tools');
    const type = tool['type'] == null ? 'custom' : nameAt(tool['type'], `${where}.type`, 'tools');
    if (type !== 'custom')
      return { type, given: tool, name: typeof tool['name'] === 'string' ? tool['name'] : null };
    const name = nameAt(tool['name'], `${where}.name`, 'tools');
    objectAt(tool['input_schema'], `${where}.input_schema`, 'tools');
    return { type, given: tool, name };
  });
}

function functionOf({ name, given }: Tool): Fields {
  const { description, input_schema: parameters, strict } = given;
  return {
    type: 'function',
    function: {
      name,
      ...(description == null ? {} : { description }),
      parameters,
      ...(strict == null ? {} : { strict }),
    },
  };
}

/** The content of `tool_choice`. */
interface Choice {
  type: 'auto' | 'any' | 'none' | 'tool';
  /** The tool that must be called. */
  tool: Tool | null;
  parallel: boolean;
}

/** @throws ApiError invalid_request */
function readChoice(given: unknown, tools: readonly Tool[]): Choice {
  if (given == null) return { type: 'auto', tool: null, parallel: true };
  const choice = objectAt(given, 'tool_choice');
  const words = ['auto', 'any', 'none', 'tool'] as const;
  const type = oneOf(choice['type'], 'tool_choice.type', words);
  const parallel = choice['disable_parallel_tool_use'] !== true;
  if (type !== 'tool') return { type, tool: null, parallel };
  const name = nameAt(choice['name'], 'tool_choice.name', 'tool_choice');
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined) throw invalid(`tool_choice: there is no tool named ${name}`, 'tool_choice');
  return { type, tool, parallel };
}

/** A name for the search function that differs from all the caller's tools. */
function searchName(tools: readonly Tool[]): string {
  const taken = tools.some((tool) => isCustom(tool) && tool.name === SEARCH_FUNCTION.name);
  return taken ? `penstock_${SEARCH_FUNCTION.name}` : SEARCH_FUNCTION.name;
}

function chatChoice({ type, tool }: Choice, search: string | null): unknown {
  if (type === 'tool')
    return { type: 'function', function: { name: tool?.type === 'custom' ? tool.name : search } };
  if (type === 'any') return 'required';
  return type === 'none' ? 'none' : undefined;
}

/** Other makers' servers, which the maker would call. */
const hasServers = (body: Fields): boolean =>
  Array.isArray(body['mcp_servers']) && body['mcp_servers'].length > 0;

/**
 * Reads `tools` and `tool_choice` (beyond 11.8).
 * @param hasPort whether the installation can search the web
 * @throws ApiError invalid_request
 */
export function toolsOf(body: Fields, { hasPort }: { hasPort: boolean }): MessageTools {
  const tools = readTools(body['tools']);
  const choice = readChoice(body['tool_choice'], tools);
  const search = tools.some(isSearch) && hasPort ? searchName(tools) : null;
  const chat = tools.filter(isCustom).map(functionOf);
  if (search !== null) chat.push({ type: 'function', function: { ...SEARCH_FUNCTION, name: search } });
  const leftOut = tools.filter((tool) => !isCustom(tool) && !(isSearch(tool) && search !== null));
  return {
    chat: chat.length === 0 ? undefined : chat,
    chatChoice: chat.length === 0 ? undefined : chatChoice(choice, search),
    parallel: choice.parallel,
    search,
    leftOut: [...leftOut.map(({ type }) => type), ...(hasServers(body) ? ['mcp_servers'] : [])],
    native: ({ allowedTools = [] }) => nativeTools(tools, { body, search, choice, allowed: allowedTools }),
  };
}

interface NativeOptions {
  body: Fields;
  search: string | null;
  choice: Choice;
  allowed: readonly string[];
}

function nativeTools(tools: readonly Tool[], { body, search, choice, allowed }: NativeOptions): NativeTools {
  const leftOut: string[] = [];
  let searches = false;
  const passed = tools.flatMap((tool): Fields[] => {
    if (isAllowed(tool.type, allowed)) return [tool.given];
    if (!isSearch(tool) || search === null) leftOut.push(tool.type);
    else searches = true;
    return [];
  });
  const { name: _, parameters, ...described } = SEARCH_FUNCTION;
  if (searches) passed.push({ ...described, name: search, input_schema: parameters });
  const isOurs = searches && choice.tool !== null && isSearch(choice.tool);
  const given = isOurs ? { ...(body['tool_choice'] as Fields), name: search } : body['tool_choice'];
  const servers = allowed.includes('mcp') ? body['mcp_servers'] : null;
  if (hasServers(body) && servers == null) leftOut.push('mcp_servers');
  return {
    fields: {
      ...(passed.length === 0 ? {} : { tools: passed }),
      ...(given == null || passed.length === 0 ? {} : { tool_choice: given }),
      ...(servers == null ? {} : { mcp_servers: servers }),
      ...(body['container'] == null || !allowed.includes('code_execution')
        ? {}
        : { container: body['container'] }),
    },
    leftOut,
    searches,
  };
}

/** @throws ApiError invalid_request if `tool_choice` forces a removed tool */
export function checkForced(body: Fields, leftOut: readonly string[]): void {
  const { tool_choice: choice, tools } = body;
  if (!isFields(choice) || choice['type'] !== 'tool' || !Array.isArray(tools)) return;
  const forced = (tools as unknown[]).find((tool) => isFields(tool) && tool['name'] === choice['name']);
  const type = isFields(forced) ? forced['type'] : null;
  if (typeof type === 'string' && leftOut.includes(type))
    throw invalid(`tool_choice: ${type} is not available here`, 'tool_choice');
}
