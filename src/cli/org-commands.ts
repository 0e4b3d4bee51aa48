import type { Command } from 'commander';
import type { Bucket, PlanCode } from '../contract/words.js';
import { print, toBucketAnswer } from './answer.js';
import { parseAmount, parseBucket, parsePlan, parsePositiveAmount } from './arguments.js';

const session = async () => (await import('./session.js')).withSession;

/** `org create|plan|cancel|show|list|top-up` (decisions 10). */
export function addOrgCommands(program: Command): void {
  const org = program.command('org').description('Organizations and their plans.');
  org
    .command('create')
    .requiredOption('--name <name>')
    .requiredOption('--plan <code>', 'plan code', parsePlan)
    .action(async ({ name, plan }: { name: string; plan: PlanCode }) => {
      const withSession = await session();
      print(await withSession(({ organizations }) => organizations.create({ name, planCode: plan })));
    });
  org
    .command('plan')
    .description('Changes the plan at once.')
    .requiredOption('--org <id or name>')
    .requiredOption('--plan <code>', 'plan code', parsePlan)
    .action(async ({ org: which, plan }: { org: string; plan: PlanCode }) => {
      const withSession = await session();
      print(
        await withSession(async ({ organizations }) =>
          organizations.changePlan(await organizations.resolveId(which), plan),
        ),
      );
    });
  addSubscriptionCommands(org);
  org
    .command('top-up')
    .description('Adds units that do not expire.')
    .requiredOption('--org <id or name>')
    .requiredOption('--bucket <name>', 'quota bucket', parseBucket)
    .requiredOption('--amount <number>', 'units', parsePositiveAmount)
    .action(async ({ org: which, bucket, amount }: { org: string; bucket: Bucket; amount: number }) => {
      const withSession = await session();
      print(
        await withSession(async ({ organizations, metering }) =>
          toBucketAnswer(await metering.topUp(await organizations.resolveId(which), bucket, amount)),
        ),
      );
    });
}

function addSubscriptionCommands(org: Command): void {
  for (const [name, description] of [
    ['cancel', 'Cancels the subscription at the end of its period.'],
    ['show', 'Shows one organization.'],
  ] as const) {
    org
      .command(name)
      .description(description)
      .requiredOption('--org <id or name>')
      .action(async ({ org: which }: { org: string }) => {
        const [withSession, { storageLimitOf }] = await Promise.all([
          session(),
          import('../access/index.js'),
        ]);
        print(
          await withSession(async ({ organizations, plans, storage }) => {
            const id = await organizations.resolveId(which);
            if (name === 'cancel') return await organizations.cancel(id);
            const shown = await organizations.get(id);
            const limitBytes = storageLimitOf(plans.plans[shown.entitled ? shown.plan : 'free']);
            return { ...shown, storage: { ...(await storage.use(id)), limitBytes } };
          }),
        );
      });
  }
  org
    .command('list')
    .description('Lists all organizations.')
    .action(async () => {
      const withSession = await session();
      print(await withSession(async ({ organizations }) => ({ orgs: await organizations.list() })));
    });
}

/** `quota set` (an operator's adjustment of what is used). */
export function addQuotaCommands(program: Command): void {
  program
    .command('quota')
    .description('What an organization has used.')
    .command('set')
    .description('Sets the used amount of a bucket in this period.')
    .requiredOption('--org <id or name>')
    .requiredOption('--bucket <name>', 'quota bucket', parseBucket)
    .requiredOption('--used <number>', 'units', parseAmount)
    .action(async ({ org: which, bucket, used }: { org: string; bucket: Bucket; used: number }) => {
      const withSession = await session();
      print(
        await withSession(async ({ organizations, metering }) =>
          toBucketAnswer(await metering.setUsed(await organizations.resolveId(which), bucket, used)),
        ),
      );
    });
}
