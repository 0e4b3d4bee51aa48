import { Directive, Field, ID, ObjectType } from 'type-graphql';
import type { MemberRole as Role, PlanCode as Plan, Scope } from '../../src/contract/words.js';
import { KeyScope, MemberRole, PlanCode } from '../enums.js';
import { Person } from '../member/member.type.js';
import { DateTime } from '../scalars.js';

@Directive('@key(fields: "id")')
@ObjectType('PenstockOrganization', {
  simpleResolvers: true,
  description: 'An organisation. It owns API keys, jobs and quota.',
})
export class Organization {
  @Field(() => ID, { description: 'Its id, `org_…`.' })
  id!: string;

  @Field(() => String, { description: 'Its name.' })
  name!: string;

  @Field(() => PlanCode, { description: 'The subscribed plan.' })
  planCode!: Plan;

  @Field(() => Boolean, {
    description: 'False if the subscription has ended. Then the limits of the Free plan apply.',
  })
  entitled!: boolean;
}

@ObjectType({ simpleResolvers: true, description: 'The API key or the session that makes the request.' })
export class Caller {
  @Field(() => ID, { description: 'Id of the key.' })
  id!: string;

  @Field(() => String, { description: 'Its name.' })
  name!: string;

  @Field(() => ID, { description: 'The id of the user that the key belongs to.' })
  userId!: string;

  @Field(() => [KeyScope], { description: 'Its scopes: what the key may do.' })
  scopes!: Scope[];

  @Field(() => DateTime, {
    nullable: true,
    description: 'When it expires; null if it never expires.',
  })
  expiresAt!: string | null;

  @Field(() => Organization, { description: 'The organisation that it belongs to.' })
  organization!: Organization;

  @Field(() => Person, {
    nullable: true,
    description: 'The signed-in person; null if an API key makes the request.',
  })
  person?: Person | null;

  @Field(() => MemberRole, {
    nullable: true,
    description: "The signed-in person's role in the organisation; null if an API key makes the request.",
  })
  role!: Role | null;
}
