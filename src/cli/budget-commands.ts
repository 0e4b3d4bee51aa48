import type { Command } from 'commander';
import { print } from './answer.js';
import { parseNumbers } from './arguments.js';

const session = async () => (await import('./session.js')).withSession;

interface CreateOptions {
  org: string;
  name: string;
  scope: string;
  subject?: string;
  unit: string;
  limit: string;
  period: string;
  soft?: true;
  thresholds?: number[];
}

/** `budget create|list|delete` (beyond 13.3). What the words and the limit may be is the service's to say. */
export function addBudgetCommands(program: Command): void {
  const budget = program.command('budget').description('Budgets of organizations.');
  budget
    .command('create')
    .requiredOption('--org <id or name>')
    .requiredOption('--name <name>')
    .requiredOption('--scope <scope>', 'organization, key, endUser or tag')
    .option('--subject <name>', 'a key id, an end user or a tag; * counts each of them separately')
    .requiredOption('--unit <unit>', 'usd, or a quota bucket')
    .requiredOption('--limit <amount>', 'USD, or units of the bucket')
    .requiredOption('--period <period>', 'total, day, week or month')
    .option('--soft', 'sends events when the limit is reached, but refuses no call')
    .option(
      '--thresholds <list>',
      'fractions of the limit at which an event is sent, separated by commas; default 0.5,0.8,1',
      parseNumbers,
    )
    .action(async ({ org, soft, ...input }: CreateOptions) => {
      const withSession = await session();
      print(
        await withSession(async ({ organizations, budgets }) =>
          budgets.create(await organizations.resolveId(org), { ...input, hard: soft !== true }),
        ),
      );
    });
  budget
    .command('list')
    .requiredOption('--org <id or name>')
    .action(async ({ org }: { org: string }) => {
      const withSession = await session();
      print(
        await withSession(async ({ organizations, budgets }) => ({
          budgets: await budgets.list(await organizations.resolveId(org)),
        })),
      );
    });
  budget
    .command('delete')
    .requiredOption('--id <budget id>')
    .action(async ({ id }: { id: string }) => {
      const withSession = await session();
      await withSession(({ budgets }) => budgets.delete(id));
      print({ id });
    });
}
