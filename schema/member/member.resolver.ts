import { Arg, Ctx, ID, Mutation, Query, Resolver } from 'type-graphql';
import { signInUrl } from '../../src/access/index.js';
import type { NewLink } from '../../src/access/index.js';
import type { MemberRole as Role } from '../../src/contract/words.js';
import type { GraphqlContext } from '../context.js';
import { MemberRole } from '../enums.js';
import { People } from '../guard.js';
import { AddMemberInput, ChangePasswordInput } from './member.input.js';
import {
  AddMemberResult,
  ChangePasswordResult,
  Member,
  RemoveMemberResult,
  SignInLink,
} from './member.type.js';

const userIdArgument = { description: 'Id of the person.' };

function linkOf({ services }: GraphqlContext, { token, expiresAt }: NewLink): SignInLink {
  return { url: signInUrl(services.config.http.publicUrl, token), expiresAt };
}

/** Who belongs to the organisation: read by everyone who does, changed by owners and admins (decisions 5). */
@Resolver()
export class MemberResolver {
  @People('viewer')
  @Query(() => [Member], { description: "The organisation's members, in the order in which they joined." })
  penstockMembers(@Ctx() { call, services }: GraphqlContext): Promise<Member[]> {
    return services.team.list(call.principal.orgId);
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
    description: 'Changes the role of a member. Only owners may make or change owners.',
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
    await services.team.remove(call.principal, userId);
    return { id: userId, success: true };
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
    return { success: true };
  }
}
