import { Field, ID, ObjectType } from 'type-graphql';
import type { MemberRole as Role } from '../../src/contract/words.js';
import { connectionType } from '../connection.js';
import { MemberRole } from '../enums.js';
import { DateTime } from '../scalars.js';

/** Its resolver adds the id. */
@ObjectType('PenstockMember', { simpleResolvers: true, description: 'A person in the organisation.' })
export class Member {
  @Field(() => ID, { description: 'Id of the person, `usr_…`.' })
  userId!: string;

  @Field(() => String, { description: "The person's e-mail address, in lower case." })
  email!: string;

  @Field(() => MemberRole, { description: "The person's role in the organisation." })
  role!: Role;

  @Field(() => DateTime, { description: 'When the person joined the organisation.' })
  createdAt!: string;

  @Field(() => Boolean, { description: 'Whether they have ever signed in.' })
  active!: boolean;
}

export const MemberConnection = connectionType('PenstockMember', () => Member);

@ObjectType('PenstockSignInLink', {
  simpleResolvers: true,
  description: 'A link with which a person chooses a password. It works once.',
})
export class SignInLink {
  @Field(() => String, { description: 'The link. Give it to that person only. Only this answer shows it.' })
  url!: string;

  @Field(() => DateTime, { description: 'When it expires.' })
  expiresAt!: string;
}

@ObjectType('AddPenstockMemberResult', {
  simpleResolvers: true,
  description: 'The answer to addPenstockMember.',
})
export class AddMemberResult {
  @Field(() => Member, { description: 'The new member.' })
  member!: Member;

  @Field(() => SignInLink, {
    nullable: true,
    description: 'A link for a person who has no password yet; null if the person can sign in already.',
  })
  link!: SignInLink | null;
}

@ObjectType('RemovePenstockMemberResult', {
  simpleResolvers: true,
  description: 'The answer to removePenstockMember.',
})
export class RemoveMemberResult {
  @Field(() => ID, { description: 'Id of the removed person.' })
  id!: string;

  @Field(() => Boolean, { description: 'Always true: a failure is an error.' })
  success!: boolean;

  @Field(() => Member, {
    nullable: true,
    description: 'The member as they were; null if they joined at that moment.',
  })
  member!: Member | null;
}

@ObjectType('PenstockMembership', {
  simpleResolvers: true,
  description: 'The membership of a person in an organisation.',
})
export class Membership {
  @Field(() => ID, { description: 'Id of the organisation.' })
  organizationId!: string;

  @Field(() => String, { description: 'Its name.' })
  organizationName!: string;

  @Field(() => MemberRole, { description: "The person's role there." })
  role!: Role;
}

@ObjectType('PenstockPerson', { simpleResolvers: true, description: 'The signed-in person.' })
export class Person {
  @Field(() => ID, { description: 'Their id, `usr_…`.' })
  id!: string;

  @Field(() => String, { description: "The person's e-mail address." })
  email!: string;

  @Field(() => [Membership], {
    description: 'The organisations that the person belongs to, in the order of joining.',
  })
  memberships!: Membership[];

  @Field(() => Boolean, { description: 'Whether this session may operate the installation.' })
  isOperator!: boolean;
}

@ObjectType('ChangePenstockPasswordResult', {
  simpleResolvers: true,
  description: 'The answer to changePenstockPassword.',
})
export class ChangePasswordResult {
  @Field(() => Boolean, { description: 'Always true: a failure is an error.' })
  success!: boolean;

  @Field(() => Person, {
    nullable: true,
    description: 'The person whose password was changed; null if their session has ended since.',
  })
  person!: Person | null;
}
