import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { NATIVE_PROVIDERS, nativeProvider } from '../../src/providers/native/registry.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const NATIVE = 'src/providers/native';
/**
 * Claude is served by two providers: its file asks its maker's package what a model can do. Keys of any maker are cut out of messages. Types of
 * the Responses convention come from its maker's package. A cloud's address and a word of questions are spelled like a provider.
 */
const NO_NAMES =
  /import\('@ai-sdk\/anthropic\/internal'\)|\(\?:sk\|[\w|]*\)|from 'openai\/resources\/[\w/]*'|'metadata\.google\.internal'|find out\|google\|/g;
/** Luma is also the brightness of a picture; the start tells the address of each convention by the maker's name that people look for. */
const NO_NAMES_IN = ['src/video/planes.ts', 'src/sandbox/film/encoder.types.ts', 'src/boot/banner.ts'];

async function sourcesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length));
}

/** A provider's name as a word of its own, in any spelling: `openai-compatible` and `OpenAi` are the convention's. */
const namesOf = (ids: readonly string[]): RegExp =>
  new RegExp(`(?<![\\w-])(${ids.join('|')})(?![\\w-])|'(${ids.join('|')})'`, 'gi');

test('each native provider is one file of its name, and one line of the registry', async () => {
  const files = await sourcesBelow(NATIVE);
  for (const { id } of NATIVE_PROVIDERS) {
    expect(files).toContain(`${NATIVE}/${id}.ts`);
    expect(await readFile(join(root, NATIVE, `${id}.ts`), 'utf8')).toContain(`id: '${id}'`);
    expect(nativeProvider(id)?.id).toBe(id);
  }
  expect(new Set(NATIVE_PROVIDERS.map(({ id }) => id)).size).toBe(NATIVE_PROVIDERS.length);
  expect(nativeProvider('openai-compatible')).toBeNull();
});

/** A file beside a provider's own that goes with it: no other imports it. */
const PARTS: Readonly<Record<string, string>> = {
  // Claude's own form at Bedrock, which its package does not speak.
  [`${NATIVE}/bedrock-claude.ts`]: `${NATIVE}/amazon-bedrock.ts`,
};

test('no code names a native provider but its own file and the registry', async () => {
  const ids = NATIVE_PROVIDERS.map(({ id }) => id);
  const own = new Set([
    ...ids.map((id) => `${NATIVE}/${id}.ts`),
    ...Object.keys(PARTS),
    `${NATIVE}/registry.ts`,
  ]);
  const general = (
    await Promise.all(['src', 'schema', 'subscriptions'].map((folder) => sourcesBelow(folder)))
  )
    .flat()
    .filter((file) => !own.has(file) && !NO_NAMES_IN.includes(file));
  expect(general.length).toBeGreaterThan(600);
  const named: string[] = [];
  for (const file of general) {
    const code = (await readFile(join(root, file), 'utf8')).replace(NO_NAMES, '');
    named.push(...[...code.matchAll(namesOf(ids))].map(([name]) => `${file}: ${name}`));
  }
  expect(named).toEqual([]);
});

test('a part of a native provider is imported by that provider alone: it goes with it', async () => {
  const files = await sourcesBelow('src');
  for (const [part, provider] of Object.entries(PARTS)) {
    const name = part.slice(part.lastIndexOf('/') + 1).replace(/\.ts$/, '.js');
    const importers: string[] = [];
    for (const file of files)
      if ((await readFile(join(root, file), 'utf8')).includes(`/${name}'`)) importers.push(file);
    expect(importers).toEqual([provider]);
  }
});

test('no native provider imports another: each can be removed by its file and its line', async () => {
  const ids = NATIVE_PROVIDERS.map(({ id }) => id);
  for (const id of ids) {
    const code = await readFile(join(root, NATIVE, `${id}.ts`), 'utf8');
    const imported = [...code.matchAll(/from '\.\/([\w-]+)\.js'/g)].map(([, name = '']) => name);
    expect(imported.filter((name) => ids.includes(name))).toEqual([]);
  }
});

test('the engine asks what a provider can do, never whether it is the sandbox: only the catalogue, which has its models, knows its id', async () => {
  const files = (await sourcesBelow('src')).filter(
    (file) => !/^src\/(models|providers|sandbox)\//.test(file),
  );
  expect(files.length).toBeGreaterThan(400);
  const knowing: string[] = [];
  for (const file of files)
    if (/SANDBOX_ID|['"`]sandbox['"`]/.test(await readFile(join(root, file), 'utf8'))) knowing.push(file);
  expect(knowing).toEqual([]);
});
