import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { ConfigError } from '../../config/index.js';
import { jsonFault } from '../../text/stored-json.js';

const credits = z.int().min(0).max(10_000);
const Common = {
  /** Credits of each of its tools; default 3. */
  credits: credits.optional(),
  /** Its tools that agents may use, with a price of their own; absent: all of them. */
  tools: z.record(z.string(), z.strictObject({ credits: credits.optional() })).optional(),
};
const Server = z.union([
  z.strictObject({
    url: z.url({ protocol: /^https?$/ }),
    headers: z.record(z.string(), z.string()).optional(),
    ...Common,
  }),
  z.strictObject({
    command: z.string().min(1),
    args: z.array(z.string()).optional(),
    env: z.record(z.string(), z.string()).optional(),
    ...Common,
  }),
]);
const McpFile = z.strictObject({
  servers: z.record(
    z.string().regex(/^[a-z0-9][a-z0-9-]{0,30}$/, 'must be lower-case letters, digits and dashes'),
    Server,
  ),
});

/** One MCP server that the operator lists: over HTTP, or a program that speaks over its standard streams. */
export type McpServerSettings = z.infer<typeof Server>;

/**
 * Reads MCP_FILE: `{"servers": {"docs": {"url": "https://…/mcp", "headers": {…}, "credits": 3, "tools": {"search": {"credits": 1}}},
 * "files": {"command": "…", "args": […]}}}`; `${NAME}` stands for a variable of the environment.
 * @throws ConfigError with every fault
 */
export async function readMcpFile(
  path: string | null,
  variables: Readonly<Record<string, string | undefined>>,
): Promise<Record<string, McpServerSettings>> {
  if (path === null) return {};
  const missing = new Set<string>();
  let json: unknown;
  let text = '';
  try {
    text = await readFile(path, 'utf8');
    json = JSON.parse(text, (_key, value: unknown) =>
      typeof value === 'string' ? substitute(value, variables, missing) : value,
    );
  } catch (error) {
    throw new ConfigError([
      `MCP_FILE: cannot be read (${error instanceof SyntaxError ? `no JSON: ${jsonFault(error, text)}` : (error as NodeJS.ErrnoException).code})`,
    ]);
  }
  const parsed = McpFile.safeParse(json);
  const faults = [...missing].map((name) => `MCP_FILE: the variable ${name} is not set`);
  if (!parsed.success)
    faults.push(
      ...parsed.error.issues.map(({ path: at, message }) => `MCP_FILE: ${at.join('.')}: ${message}`),
    );
  if (!parsed.success || faults.length > 0) throw new ConfigError(faults);
  return parsed.data.servers;
}

function substitute(
  text: string,
  variables: Readonly<Record<string, string | undefined>>,
  missing: Set<string>,
): string {
  return text.replace(/\$\{([A-Za-z_]\w*)\}/g, (_whole, name: string) => {
    const value = variables[name];
    if (value === undefined) missing.add(name);
    return value ?? '';
  });
}
