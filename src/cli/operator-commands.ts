import type { Command } from 'commander';
import type { UsageRecord } from '../usage/index.js';
import { print, toUsageAnswer } from './answer.js';
import { parseLetterId, parseTime } from './arguments.js';
import type { Session } from './session.js';

const PAGE = 1000;

async function allUsage({ usage }: Session, orgId: string, since: Date | undefined): Promise<UsageRecord[]> {
  const records: UsageRecord[] = [];
  for (let after: string | undefined; ;) {
    const page = await usage.records({
      orgId,
      first: PAGE,
      ...(since === undefined ? {} : { filter: { since } }),
      ...(after === undefined ? {} : { after }),
    });
    records.push(...page.nodes);
    if (page.nextCursor === null) return records;
    after = page.nextCursor;
  }
}

/** `dead-letters list|replay`; its module is loaded when it is asked for. */
export function addDeadLetterCommands(program: Command): void {
  const letters = program.command('dead-letters').description('Events that a consumer could not process.');
  letters.command('list').action(async () => {
    const { listLetters } = await import('./dead-letters.js');
    await listLetters();
  });
  letters
    .command('replay')
    .description('Sends dead letters again: all of them, or one.')
    .option('--id <id>', 'the id that `list` shows', parseLetterId)
    .action(async (options: { id?: string }) => {
      const { replayLetters } = await import('./dead-letters.js');
      await replayLetters(options);
    });
}

/** `usage`, `usage rebuild`, `reconcile`. */
export function addUsageCommands(program: Command): void {
  const usage = program
    .command('usage')
    .description('Lists the metered operations of an organization.')
    .requiredOption('--org <id or name>')
    .option('--since <time>', 'ISO 8601', parseTime)
    .action(async ({ org, since }: { org: string; since?: Date }) => {
      const { withSession } = await import('./session.js');
      print(
        await withSession(async (session) => {
          const orgId = await session.organizations.resolveId(org);
          return { records: (await allUsage(session, orgId, since)).map(toUsageAnswer) };
        }),
      );
    });
  usage
    .command('rebuild')
    .description("Adds up an organization's usage anew from its ledger.")
    .action(async (_: unknown, command: Command) => {
      // `--org` is the option of `usage`, before or behind this word.
      const { org } = command.optsWithGlobals<{ org: string }>();
      const { withSession } = await import('./session.js');
      print(
        await withSession(async (session) => ({
          folded: await session.usage.rebuild(await session.organizations.resolveId(org)),
        })),
      );
    });
  program
    .command('reconcile')
    .description(
      "Adds up an organization's ledger, balances, usage and budgets again, and names what differs.",
    )
    .requiredOption('--org <id or name>')
    .option('--invoice <file>', "an upstream's invoice as CSV")
    .action(async ({ org, invoice }: { org: string; invoice?: string }) => {
      const [{ withSession }, { readFile }] = await Promise.all([
        import('./session.js'),
        import('node:fs/promises'),
      ]);
      const text = invoice === undefined ? null : await readFile(invoice, 'utf8');
      const answer = await withSession(async ({ organizations, usage: adding }) =>
        adding.reconcile(await organizations.resolveId(org), text),
      );
      print(answer);
      if (answer.differences.length > 0) process.exitCode = 1;
    });
}

/** `migrate`, `topics create`, `doctor`. */
export function addOperatorCommands(program: Command): void {
  program
    .command('migrate')
    .description('Migrates the database to this version.')
    .action(async () => {
      const { runMigrations } = await import('./maintenance.js');
      print(await runMigrations());
    });
  program
    .command('topics')
    .description('Kafka topics.')
    .command('create')
    .description('Creates the topics that do not exist yet.')
    .action(async () => {
      const { makeTopics } = await import('./maintenance.js');
      print(await makeTopics());
    });
  program
    .command('doctor')
    .description('Checks the database, Kafka, the providers and the files.')
    .action(async () => {
      const { examine } = await import('./doctor.js');
      const report = await examine();
      print(report);
      if (!report.ok) process.exitCode = 1;
    });
}
