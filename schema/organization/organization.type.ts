import { Directive, Field, ID, ObjectType } from 'type-graphql';
import type { MemberRole as Role, PlanCode as Plan, Scope } from '../../src/contract/words.js';
import { KeyScope, MemberRole, PlanCode } from '../enums.js';
import { Person } from '../member/member.type.js';

@Directive('@key(fields: "id")')
@ObjectType({ simpleResolvers: true, description: 'Who owns keys, jobs and quota.' })
export class Organization {
  @Field(() => ID, { description: 'Its id, `org_…`.' })
  id!: string;

  @Field(() => String, { description: 'Its name.' })
  name!: string;

  @Field(() => PlanCode, { description: 'The subscribed plan.' })
  planCode!: Plan;

  @Field(() => Boolean, { description: 'False where the subscription has ended: the Free limits hold.' })
  entitled!: boolean;
}

@ObjectType({ simpleResolvers: true, description: 'The calling key, or the session of who is signed in.' })
export class Viewer {
  @Field(() => ID, { description: 'Id of the key.' })
  keyId!: string;

  @Field(() => String, { description: 'Its name.' })
  keyName!: string;

  @Field(() => ID, { description: 'Whose key it is.' })
  userId!: string;

  @Field(() => [KeyScope], { description: 'What it may do.' })
  scopes!: Scope[];

  @Field(() => String, { nullable: true, description: 'When it stops being valid, ISO 8601; null: never.' })
  expiresAt!: string | null;

  @Field(() => Organization, { description: 'The organisation that it belongs to.' })
  organization!: Organization;

  @Field(() => Person, { nullable: true, description: 'Who is signed in; null: an API key calls.' })
  person?: Person | null;

  @Field(() => MemberRole, {
    nullable: true,
    description: "The signed-in person's role in the organisation; null: an API key calls.",
  })
  role!: Role | null;
}
