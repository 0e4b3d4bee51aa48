import { Field, ID, ObjectType } from 'type-graphql';
import type { MemberRole as Role } from '../../src/contract/words.js';
import { MemberRole } from '../enums.js';

@ObjectType({ simpleResolvers: true, description: 'A person in the organisation.' })
export class Member {
  @Field(() => ID, { description: 'Id of the person, `usr_…`.' })
  userId!: string;

  @Field(() => String, { description: 'Their address, in lower case.' })
  email!: string;

  @Field(() => MemberRole, { description: 'What they may do here.' })
  role!: Role;

  @Field(() => String, { description: 'Since when they belong to the organisation, ISO 8601.' })
  createdAt!: string;

  @Field(() => Boolean, { description: 'Whether they have ever signed in.' })
  active!: boolean;
}

@ObjectType({ simpleResolvers: true, description: 'By it a person chooses a password, once.' })
export class SignInLink {
  @Field(() => String, { description: 'To be handed to that person alone: only this answer shows it.' })
  url!: string;

  @Field(() => String, { description: 'Until when it works, ISO 8601.' })
  expiresAt!: string;
}

@ObjectType({ simpleResolvers: true, description: 'The answer to addMember.' })
export class AddMemberResult {
  @Field(() => Member, { description: 'The new member.' })
  member!: Member;

  @Field(() => SignInLink, {
    nullable: true,
    description: 'For who has no password yet; null where they sign in as they did before.',
  })
  link!: SignInLink | null;
}

@ObjectType({ simpleResolvers: true, description: 'The answer to removeMember.' })
export class RemoveMemberResult {
  @Field(() => Boolean, { description: 'Always true: a failure is an error.' })
  success!: boolean;
}

@ObjectType({ simpleResolvers: true, description: 'The answer to changePassword.' })
export class ChangePasswordResult {
  @Field(() => Boolean, { description: 'Always true: a failure is an error.' })
  success!: boolean;
}

@ObjectType({ simpleResolvers: true, description: 'That a person belongs to an organisation.' })
export class Membership {
  @Field(() => ID, { description: 'Id of the organisation.' })
  organizationId!: string;

  @Field(() => String, { description: 'Its name.' })
  organizationName!: string;

  @Field(() => MemberRole, { description: 'What the person may do there.' })
  role!: Role;
}

@ObjectType({ simpleResolvers: true, description: 'Who is signed in.' })
export class Person {
  @Field(() => ID, { description: 'Their id, `usr_…`.' })
  id!: string;

  @Field(() => String, { description: 'Their address.' })
  email!: string;

  @Field(() => [Membership], { description: 'Where they belong, in the order in which they joined.' })
  memberships!: Membership[];
}
