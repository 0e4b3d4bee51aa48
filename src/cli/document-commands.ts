import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { publishDocuments, readManifest } from '../access/index.js';
import { print } from './answer.js';

const session = async () => (await import('./session.js')).withSession;

/** `documents publish`: trusted documents of the whole installation (beyond 14.8). */
export function addDocumentCommands(program: Command): void {
  const documents = program.command('documents').description('Trusted documents of the GraphQL API.');
  documents
    .command('publish')
    .description("Publishes the documents of Apollo's or Relay's manifest, for all organisations.")
    .argument('<file>', 'the manifest, JSON')
    .action(async (file: string) => {
      const manifest = readManifest(JSON.parse(await readFile(file, 'utf8')));
      const withSession = await session();
      print(await withSession(({ database }) => publishDocuments(database, manifest)));
    });
}
