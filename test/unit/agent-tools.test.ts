import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { AGENT_TOOLS, RULES_OF_TOOLS } from '../../src/agents/index.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const TOOLS = 'src/agents/tools';
/** What each template is granted is part of the template. */
const TEMPLATES = 'src/agents/templates.ts';
/** An option of chat has the name of a tool. */
const CHAT_OPTION = 'web_search';

async function sourcesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length));
}

const fileOf = (id: string): string => `${TOOLS}/${id.replaceAll('_', '-')}.tool.ts`;

test('each tool of agents is one file of its name, which also says how the sandbox uses it', async () => {
  const files = (await sourcesBelow(TOOLS)).filter((file) => file.endsWith('.tool.ts'));
  expect(files.sort()).toEqual(AGENT_TOOLS.map(fileOf).sort());
  expect([...RULES_OF_TOOLS.keys()]).toEqual(AGENT_TOOLS);
});

test('no code names a tool but its own file and the templates that are granted it', async () => {
  const folders = ['src/agents', 'src/sandbox', 'src/boot', 'src/providers', 'schema', 'subscriptions'];
  const files = (await Promise.all(folders.map(sourcesBelow))).flat();
  expect(files.length).toBeGreaterThan(200);
  const named: string[] = [];
  for (const file of files.filter((path) => path !== TEMPLATES)) {
    const text = await readFile(join(root, file), 'utf8');
    const ids = AGENT_TOOLS.filter(
      (id) => id !== CHAT_OPTION || !/^(src\/providers|schema\/chat)/.test(file),
    );
    named.push(
      ...ids
        .filter((id) => file !== fileOf(id) && new RegExp(`\\b${id}\\b`).test(text))
        .map((id) => `${file}: ${id}`),
    );
  }
  expect(named).toEqual([]);
});
