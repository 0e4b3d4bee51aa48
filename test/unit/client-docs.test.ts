import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkClientDocs } from '../../scripts/check-client-docs.mjs';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'client-docs-'));
  for (const entry of ['react.ts', 'urql.ts', 'apollo.ts', 'ai-sdk.ts'])
    await writeFile(join(folder, entry), '');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function faultsOf(modules: Record<string, string>): Promise<string[]> {
  for (const [name, text] of Object.entries(modules)) await writeFile(join(folder, name), text);
  const { faults } = await checkClientDocs(folder);
  return faults.map((fault) => fault.replace(/^.*?:\d+: /, ''));
}

it('every export of the client, and every member of an exported shape, has TSDoc that says what calls fail with', async () => {
  expect(await checkClientDocs()).toEqual({ faults: [] });
  const documented = `
    /** A file. */
    export interface File {
      /** Its id, as \`provider/*\`. */
      id: string;
      /** Reads it. @throws Error */
      read(): Promise<string>;
    }
    interface Hidden { member: string }
    const hidden = 1;`;
  expect(await faultsOf({ 'index.ts': "export * from './file.js';", 'file.ts': documented })).toEqual([]);
  const bare = `
    export interface File {
      id: string;
      /** Reads it. */
      read(): Promise<string>;
    }
    /* no TSDoc */
    export const one = 1;
    /** Sends it. */
    export async function send(): Promise<void> {}
    export const other = 2;`;
  const some = "export type { File } from './file.js';\nexport { one, send } from './file.js';";
  expect(await faultsOf({ 'index.ts': some, 'file.ts': bare })).toEqual([
    'File has no TSDoc',
    'File.id has no TSDoc',
    'File.read does not say what it fails with (@throws)',
    'one has no TSDoc',
    'send does not say what it fails with (@throws)',
  ]);
});
