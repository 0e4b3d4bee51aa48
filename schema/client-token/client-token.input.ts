import { Extensions, Field, ID, InputType, Int } from 'type-graphql';
import type { Scope } from '../../src/contract/words.js';
import { KeyRateInput } from '../api-key/api-key.input.js';
import { KeyScope } from '../enums.js';
import { Decimal } from '../scalars.js';

@InputType({
  description:
    'What a browser may do, and for how long. At most one of `jobId`, `runId`, `responseId` and `agentId` may be given: the token then reaches that object alone.',
})
export class CreateClientTokenInput {
  @Field(() => [KeyScope], { description: 'At least one of your own; never `tokens` or `webhooks`.' })
  scopes!: Scope[];

  @Extensions({ jsonSchema: { minimum: 1, maximum: 3600, default: 900 } })
  @Field(() => Int, { nullable: true, description: 'For so long it is valid: 1 to 3,600, default 900.' })
  ttlSeconds?: number | null;

  @Extensions({ jsonSchema: { minLength: 1, maxLength: 256 } })
  @Field(() => String, {
    nullable: true,
    description: 'All calls of the token count for this end user, whatever they say themselves.',
  })
  endUser?: string | null;

  @Extensions({ jsonSchema: { maxItems: 10 } })
  @Field(() => [String], {
    nullable: true,
    description: 'All calls of the token have these tags, at most 10.',
  })
  tags?: string[] | null;

  @Field(() => ID, { nullable: true, description: 'The job that it is bound to.' })
  jobId?: string | null;

  @Field(() => ID, { nullable: true, description: 'The run of an agent that it is bound to.' })
  runId?: string | null;

  @Field(() => ID, { nullable: true, description: 'The stored response that it is bound to.' })
  responseId?: string | null;

  @Field(() => ID, {
    nullable: true,
    description: 'The agent that it is bound to: it may be run, and its runs be followed.',
  })
  agentId?: string | null;

  @Field(() => KeyRateInput, {
    nullable: true,
    description: 'A window of requests of its own, inside that of its maker.',
  })
  rate?: KeyRateInput | null;

  @Extensions({ jsonSchema: { minimum: 1, maximum: 1_000_000_000 } })
  @Field(() => Int, {
    nullable: true,
    description:
      'What all of its calls may take in all; what would take more is a 402. Not with the scope `agents`.',
  })
  credits?: number | null;

  @Field(() => Decimal, {
    nullable: true,
    description: 'The same in USD of upstream cost, in the place of `credits`.',
  })
  budgetUsd?: string | null;
}
