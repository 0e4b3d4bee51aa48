import type { Command } from 'commander';
import { print } from './answer.js';

const session = async () => (await import('./session.js')).withSession;

/** `operator add|remove|list`: who may use the operator's part of the API and of the dashboard. */
export function addOperatorPeopleCommands(program: Command): void {
  const operator = program.command('operator').description('People who operate the installation.');
  for (const [name, description] of [
    ['add', 'Lets a member of any organization operate the installation when signed in.'],
    ['remove', 'Takes that right from a person at once.'],
  ] as const) {
    operator
      .command(name)
      .description(description)
      .requiredOption('--email <address>')
      .action(async ({ email }: { email: string }) => {
        const withSession = await session();
        print(await withSession(({ operators }) => operators[name](email)));
      });
  }
  operator
    .command('list')
    .description('Lists them.')
    .action(async () => {
      const withSession = await session();
      print(await withSession(async ({ operators }) => ({ operators: await operators.list() })));
    });
}
