import { Directive, Field, ID, ObjectType } from 'type-graphql';
import type { PlanCode as Plan, Scope } from '../../src/vocabulary.js';
import { KeyScope, PlanCode } from '../enums.js';

@Directive('@key(fields: "id")')
@ObjectType({ simpleResolvers: true, description: 'Who owns keys, jobs and quota.' })
export class Organization {
  @Field(() => ID)
  id!: string;

  @Field(() => String)
  name!: string;

  @Field(() => PlanCode, { description: 'The subscribed plan.' })
  planCode!: Plan;

  @Field(() => Boolean, { description: 'False where the subscription has ended: the Free limits hold.' })
  entitled!: boolean;
}

@ObjectType({ simpleResolvers: true, description: 'The calling key.' })
export class Viewer {
  @Field(() => ID)
  keyId!: string;

  @Field(() => String)
  keyName!: string;

  @Field(() => ID)
  userId!: string;

  @Field(() => [KeyScope])
  scopes!: Scope[];

  @Field(() => String, { nullable: true, description: 'ISO 8601.' })
  expiresAt!: string | null;

  @Field(() => Organization)
  organization!: Organization;
}
