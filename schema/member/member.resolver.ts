import { Arg, Ctx, FieldResolver, ID, Mutation, Query, Resolver, Root } from 'type-graphql';
import { signInUrl } from '../../src/access/index.js';
import type { NewLink, TeamMember } from '../../src/access/index.js';
import type { MemberRole as Role } from '../../src/contract/words.js';
import { After, Before, First, Last, pageQuery, toConnection } from '../connection.js';
import type { Connection } from '../connection.js';
import type { GraphqlContext } from '../context.js';
import { MemberRole } from '../enums.js';
import { People } from '../guard.js';
import { memberId } from './member-id.js';
import { AddMemberInput, ChangePasswordInput } from './member.input.js';
import {
  AddMemberResult,
  ChangePasswordResult,
  Member,
  MemberConnection,
  RemoveMemberResult,
  SignInLink,
} from './member.type.js';
import { findPerson } from './person.js';

const userIdArgument = { description: 'Id of the person.' };

function linkOf({ services }: GraphqlContext, { token, expiresAt }: NewLink): SignInLink {
  return { url: signInUrl(services.config.http.publicUrl, token), expiresAt };
}

/** Members of the organisation. All members may read them; owners and admins may change them (decisions 5). */
@Resolver(() => Member)
export class MemberResolver {
  @FieldResolver(() => ID, {
    description: 'Its id, `mbr_…`: of this person in this organisation. Mutations take `userId`.',
  })
  id(@Root() { userId }: TeamMember, @Ctx() { call }: GraphqlContext): string {
    return memberId(call.principal.orgId, userId);
  }

  @People('viewer')
  @Query(() => MemberConnection, {
    description: "The organisation's members, in the order in which they joined.",
  })
  async penstockMembers(
    @Ctx() { call, services }: GraphqlContext,
    @First() first: number | null,
    @After() after: string | null | undefined,
    @Last() last: number | null | undefined,
    @Before() before: string | null | undefined,
  ): Promise<Connection<TeamMember>> {
    const page = pageQuery({ first, after, last, before });
    return toConnection(await services.team.page(call.principal.orgId, page), after);
  }

  @People('admin')
  @Mutation(() => AddMemberResult, {
    description:
      'Adds a person by e-mail address. Only owners and admins may do this; only owners may add owners.',
  })
  async addPenstockMember(
    @Ctx() context: GraphqlContext,
    @Arg('input', () => AddMemberInput, { description: 'The person and the role.' }) input: AddMemberInput,
  ): Promise<AddMemberResult> {
    const { email, role } = input;
    const added = await context.services.team.add(context.call.principal, { email, role: role ?? 'member' });
    return { member: added.member, link: added.link === null ? null : linkOf(context, added.link) };
  }

  @People('admin')
  @Mutation(() => Member, {
    description: 'Changes the role of a member. Only owners may add, change or remove the role owner.',
  })
  changePenstockMemberRole(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('userId', () => ID, userIdArgument) userId: string,
    @Arg('role', () => MemberRole, { description: 'The new role.' }) role: Role,
  ): Promise<Member> {
    return services.team.changeRole(call.principal, userId, role);
  }

  @People('admin')
  @Mutation(() => RemoveMemberResult, {
    description:
      "Removes a member and ends the person's sessions in the organisation. Only owners may remove owners. The last owner cannot be removed.",
  })
  async removePenstockMember(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('userId', () => ID, userIdArgument) userId: string,
  ): Promise<RemoveMemberResult> {
    const member = await services.team.remove(call.principal, userId);
    return { id: userId, success: true, member };
  }

  @People('admin')
  @Mutation(() => SignInLink, {
    description:
      'Creates a sign-in link for a member who forgot the password. Earlier links of the member stop working.',
  })
  async createPenstockSignInLink(
    @Ctx() context: GraphqlContext,
    @Arg('userId', () => ID, userIdArgument) userId: string,
  ): Promise<SignInLink> {
    return linkOf(context, await context.services.team.createLink(context.call.principal, userId));
  }

  @People('viewer')
  @Mutation(() => ChangePasswordResult, {
    description: "Changes the signed-in person's password and ends their other sessions.",
  })
  async changePenstockPassword(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('input', () => ChangePasswordInput, { description: 'The current and the new password.' })
    input: ChangePasswordInput,
  ): Promise<ChangePasswordResult> {
    const { userId, person } = call.principal;
    if (person === undefined) throw new Error('the guard lets only people through');
    await services.people.changePassword({ userId, sessionId: person.sessionId, ...input });
    return { success: true, person: await findPerson(services, call.principal) };
  }
}
