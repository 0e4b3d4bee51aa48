import type { Command } from 'commander';
import type { Scope } from '../contract/words.js';
import { print } from './answer.js';
import { parseScopes, parseTime } from './arguments.js';

const session = async () => (await import('./session.js')).withSession;

interface CreateOptions {
  org: string;
  name: string;
  scopes: Scope[];
  expires?: Date;
}

/** `key create|revoke|list`; the full key is shown once, by `create` (contract 2.16). */
export function addKeyCommands(program: Command): void {
  const key = program.command('key').description('API keys.');
  key
    .command('create')
    .requiredOption('--org <id or name>')
    .requiredOption('--name <name>')
    .requiredOption('--scopes <list>', 'all, or names separated by commas', parseScopes)
    .option('--expires <time>', 'ISO 8601', parseTime)
    .action(async ({ org, name, scopes, expires }: CreateOptions) => {
      const withSession = await session();
      print(
        await withSession(async ({ organizations, keys }) => {
          const orgId = await organizations.resolveId(org);
          const made = await keys.create({ orgId, name, scopes, expiresAt: expires ?? null });
          return { id: made.id, key: made.key, scopes: made.scopes, expiresAt: made.expiresAt };
        }),
      );
    });
  key
    .command('revoke')
    .description('Revokes a key at once and for ever.')
    .requiredOption('--id <key id>')
    .action(async ({ id }: { id: string }) => {
      const withSession = await session();
      print(await withSession(({ keys }) => keys.revoke(id)));
    });
  key
    .command('list')
    .requiredOption('--org <id or name>')
    .option(
      '--created-by <address>',
      'only keys that this person created (an e-mail address), or: command line',
    )
    .action(async ({ org, createdBy }: { org: string; createdBy?: string }) => {
      const withSession = await session();
      print(
        await withSession(async ({ organizations, keys }) => {
          const records = await keys.list(await organizations.resolveId(org), createdBy);
          return { keys: records.map(({ createdAt: _hidden, ...shown }) => shown) };
        }),
      );
    });
}
