import type { Command } from 'commander';
import type { KeyRecord } from '../access/index.js';
import type { Scope } from '../contract/words.js';
import { print } from './answer.js';
import { parseCount, parseList, parseScopes, parseSeconds, parseTime } from './arguments.js';

const session = async () => (await import('./session.js')).withSession;

interface CreateOptions {
  org: string;
  name: string;
  scopes: Scope[];
  expires?: Date;
  models?: string[];
  rpm?: number;
  burst?: number;
  endUser?: string;
  tags?: string[];
  router?: boolean;
}

/** A key as the list shows it: limits where it has any. */
function shownOf({ createdAt: _, models, rate, endUser, tags, isRouter, ...shown }: KeyRecord): object {
  return {
    ...shown,
    ...(models === null ? {} : { models }),
    ...(rate === null ? {} : { rate }),
    ...(endUser === null ? {} : { endUser }),
    ...(tags.length === 0 ? {} : { tags }),
    ...(isRouter ? { router: true } : {}),
  };
}

/** One half alone stands for both. */
function rateOf({ rpm, burst }: CreateOptions): { rpm: number; burst: number } | null {
  if (rpm === undefined && burst === undefined) return null;
  const both = rpm ?? burst ?? 1;
  return { rpm: rpm ?? both, burst: burst ?? both };
}

/** `key create`. */
function addCreate(key: Command): void {
  key
    .command('create')
    .requiredOption('--org <id or name>')
    .requiredOption('--name <name>')
    .requiredOption('--scopes <list>', 'all, or names separated by commas', parseScopes)
    .option('--expires <time>', 'ISO 8601', parseTime)
    .option('--models <list>', 'models that it may call, separated by commas', parseList)
    .option('--rpm <count>', 'requests per minute; at most those of the plan', parseCount)
    .option('--burst <count>', 'requests that may arrive at once; default: --rpm', parseCount)
    .option('--end-user <name>', 'the end user of all calls of the key')
    .option('--tags <list>', 'tags of all calls of the key, separated by commas', parseList)
    .option('--router', 'of a GraphQL router: it may send documents that are not trusted')
    .action(async (options: CreateOptions) => {
      const { org, name, scopes, expires, models = null, endUser = null, tags = [] } = options;
      const isRouter = options.router === true;
      const withSession = await session();
      print(
        await withSession(async ({ organizations, keys }) => {
          const orgId = await organizations.resolveId(org);
          const limits = { models, rate: rateOf(options), endUser, tags };
          const made = await keys.create({
            orgId,
            name,
            scopes,
            expiresAt: expires ?? null,
            isRouter,
            ...limits,
          });
          return { id: made.id, key: made.key, scopes: made.scopes, expiresAt: made.expiresAt };
        }),
      );
    });
}

/** `key create|rotate|revoke|list`; the full key is shown once, by `create` and `rotate` (contract 2.16). */
export function addKeyCommands(program: Command): void {
  const key = program.command('key').description('API keys.');
  addCreate(key);
  key
    .command('rotate')
    .description('Gives a key a new secret. The earlier secret stays valid for the overlap.')
    .requiredOption('--id <key id>')
    .option('--overlap <seconds>', 'how long both secrets are valid: 0 to 604800; default 0', parseSeconds, 0)
    .action(async ({ id, overlap }: { id: string; overlap: number }) => {
      const withSession = await session();
      const { key: text } = await withSession(({ keys }) => keys.rotate(id, overlap));
      print({ id, key: text });
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
          return { keys: records.map(shownOf) };
        }),
      );
    });
}
