import { Command, CommanderError } from 'commander';
import { ConfigError, readEnvFile } from '../config/index.js';
import { addBudgetCommands } from './budget-commands.js';
import { addDocumentCommands } from './document-commands.js';
import { addKeyCommands } from './key-commands.js';
import { addMemberCommands } from './member-commands.js';
import { addDeadLetterCommands, addOperatorCommands, addUsageCommands } from './operator-commands.js';
import { addOperatorPeopleCommands } from './people-commands.js';
import { addOrgCommands, addQuotaCommands } from './org-commands.js';

/** The commands, of which one is run. */
export function createProgram(): Command {
  const program = new Command('penstock')
    .description(
      'Operates a Penstock installation. Results are JSON on standard output, errors go to standard error.',
    )
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text) });
  addOrgCommands(program);
  addQuotaCommands(program);
  addKeyCommands(program);
  addBudgetCommands(program);
  addMemberCommands(program);
  addOperatorPeopleCommands(program);
  addDocumentCommands(program);
  addDeadLetterCommands(program);
  addUsageCommands(program);
  addOperatorCommands(program);
  for (const command of program.commands) inherit(command);
  return program;
}

/** Subcommands made before do not inherit how their parent ends. */
function inherit(command: Command): void {
  command.exitOverride();
  for (const child of command.commands) inherit(child);
}

/** The contract's message where there is one; a stack trace helps nobody at a prompt. */
function describe(error: unknown): string {
  if (error instanceof ConfigError) return error.message;
  return `error: ${error instanceof Error ? error.message : String(error)}`;
}

/**
 * Runs one command. Sets the exit code: 0, or 1 with the reason on standard error.
 * @param args without the node binary and the script
 */
export async function run(args: string[]): Promise<void> {
  try {
    readEnvFile();
    await createProgram().parseAsync(args, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? 0 : 1;
      return;
    }
    process.stderr.write(`${describe(error)}\n`);
    process.exitCode = 1;
  }
}
