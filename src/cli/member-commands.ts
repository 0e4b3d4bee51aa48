import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import { print } from './answer.js';

const ROLES = ['owner', 'admin', 'member', 'viewer'] as const;
type Role = (typeof ROLES)[number];

function parseRole(text: string): Role {
  const role = ROLES.find((candidate) => candidate === text);
  if (role === undefined) throw new InvalidArgumentError(`must be one of ${ROLES.join(', ')}`);
  return role;
}

const session = async () => (await import('./session.js')).withSession;

interface Which {
  org: string;
  email: string;
}

/** `member add|remove|role|list` (decisions 6): answers `{userId, email, role, previousRole?}`; `member link`: `{email, url, expiresAt}`. */
export function addMemberCommands(program: Command): void {
  const member = program.command('member').description('People in an organization.');
  member
    .command('add')
    .requiredOption('--org <id or name>')
    .requiredOption('--email <address>')
    .option('--role <role>', ROLES.join(', '), parseRole, 'member')
    .action(async ({ org, email, role }: Which & { role: Role }) => {
      const withSession = await session();
      print(
        await withSession(async ({ organizations, members }) =>
          members.add(await organizations.resolveId(org), email, role),
        ),
      );
    });
  member
    .command('remove')
    .requiredOption('--org <id or name>')
    .requiredOption('--email <address>')
    .action(async ({ org, email }: Which) => {
      const withSession = await session();
      print(
        await withSession(async ({ organizations, members }) =>
          members.remove(await organizations.resolveId(org), email),
        ),
      );
    });
  member
    .command('role')
    .requiredOption('--org <id or name>')
    .requiredOption('--email <address>')
    .requiredOption('--role <role>', ROLES.join(', '), parseRole)
    .action(async ({ org, email, role }: Which & { role: Role }) => {
      const withSession = await session();
      print(
        await withSession(async ({ organizations, members }) =>
          members.changeRole(await organizations.resolveId(org), email, { role }),
        ),
      );
    });
  member
    .command('list')
    .requiredOption('--org <id or name>')
    .action(async ({ org }: { org: string }) => {
      const withSession = await session();
      print(
        await withSession(async ({ organizations, members }) => ({
          members: await members.list(await organizations.resolveId(org)),
        })),
      );
    });
  addLinkCommand(member);
}

/** For the operator's own people, and for whoever forgot their password. */
function addLinkCommand(member: Command): void {
  member
    .command('link')
    .description(
      'Creates a one-time link with which a person chooses a password. Earlier links stop working.',
    )
    .requiredOption('--email <address>')
    .action(async ({ email }: { email: string }) => {
      const [withSession, { signInUrl }, { publicUrlOf }] = await Promise.all([
        session(),
        import('../access/index.js'),
        import('../database/index.js'),
      ]);
      print(
        await withSession(async ({ config, database, people }) => {
          const { token, expiresAt, email: address } = await people.createLink(email);
          return { email: address, url: signInUrl(await publicUrlOf(database, config), token), expiresAt };
        }),
      );
    });
}
