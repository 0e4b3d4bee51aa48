import type { Command } from 'commander';
import type { DeadLetterStore } from '../events/index.js';
import type { UsageRecord } from '../usage/index.js';
import { print, toUsageAnswer } from './answer.js';
import { parseDeadLetterId, parseTime } from './arguments.js';
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

/** The client of Kafka is loaded when it is asked for. */
async function withDeadLetters<T>(work: (box: DeadLetterStore) => Promise<T>): Promise<T> {
  const [{ withSession }, { createDeadLetterStore }] = await Promise.all([
    import('./session.js'),
    import('../events/index.js'),
  ]);
  return withSession(({ config: { kafka }, database, logger }) =>
    work(createDeadLetterStore({ database, kafka, logger })),
  );
}

/** `dead-letters list|replay`. */
export function addDeadLetterCommands(program: Command): void {
  const letters = program.command('dead-letters').description('Events that a consumer could not process.');
  letters.command('list').action(async () => {
    print(await withDeadLetters(async (box) => ({ deadLetters: await box.list() })));
  });
  letters
    .command('replay')
    .description('Sends dead letters again: all of them, or one.')
    .option('--id <id>', 'the id that `list` shows', parseDeadLetterId)
    .action(async ({ id }: { id?: string }) => {
      const { replayed } = await withDeadLetters((box) => box.replay(id));
      print({ replayed });
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
      const file = invoice === undefined ? null : await readFile(invoice);
      const answer = await withSession(async ({ organizations, usage: adding }) =>
        adding.reconcile(await organizations.resolveId(org), file),
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
      const { createKafkaTopics } = await import('./maintenance.js');
      print(await createKafkaTopics());
    });
  program
    .command('doctor')
    .description('Checks the database, Kafka, the providers and the files.')
    .action(async () => {
      const { runDoctor } = await import('./doctor.js');
      const report = await runDoctor();
      print(report);
      if (!report.ok) process.exitCode = 1;
    });
}
