import { Extensions, Field, ID, InputType, Int } from 'type-graphql';
import { CLIENT_TOKEN_SCOPES } from '../../src/access/index.js';
import type { Scope } from '../../src/contract/words.js';
import { KeyRateInput } from '../api-key/api-key.input.js';
import { KeyScope } from '../enums.js';
import { Decimal } from '../scalars.js';

/** A decimal above 0, with at most 9 decimals. */
const POSITIVE_USD = '^(?=.*[1-9])\\d{1,9}(\\.\\d{1,9})?$';

@InputType({
  description:
    'The rights of a browser, and their duration. At most one of `jobId`, `runId`, `responseId` and `agentId` may be given: the token can then use only that object.',
})
export class CreateClientTokenInput {
  @Extensions({ jsonSchema: { minItems: 1, items: { type: 'string', enum: [...CLIENT_TOKEN_SCOPES] } } })
  @Field(() => [KeyScope], { description: 'At least one of your own scopes; never `tokens` or `webhooks`.' })
  scopes!: Scope[];

  @Extensions({ jsonSchema: { minimum: 1, maximum: 3600, default: 900 } })
  @Field(() => Int, { nullable: true, description: 'How long it is valid: 1 to 3,600, default 900.' })
  ttlSeconds?: number | null;

  @Extensions({ jsonSchema: { minLength: 1, maxLength: 256 } })
  @Field(() => String, {
    nullable: true,
    description: 'All calls of the token are recorded for this end user, whatever end user they name.',
  })
  endUser?: string | null;

  @Extensions({
    jsonSchema: { maxItems: 10, items: { type: 'string', pattern: '^[A-Za-z0-9_.:/-]{1,64}$' } },
  })
  @Field(() => [String], {
    nullable: true,
    description: 'All calls of the token are recorded with these tags; at most 10.',
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
    description: 'The agent that it is bound to: the token can run it and follow its runs.',
  })
  agentId?: string | null;

  @Field(() => KeyRateInput, {
    nullable: true,
    description: 'Its own rate window, inside the rate window of the key that creates it.',
  })
  rate?: KeyRateInput | null;

  @Extensions({ jsonSchema: { minimum: 1, maximum: 1_000_000_000 } })
  @Field(() => Int, {
    nullable: true,
    description:
      'The maximum of credits for all its calls together; a call that needs more is refused with 402. The calls of the runs that it starts count, too.',
  })
  credits?: number | null;

  @Extensions({ jsonSchema: { pattern: POSITIVE_USD } })
  @Field(() => Decimal, {
    nullable: true,
    description: 'The maximum in USD of upstream cost, instead of `credits`.',
  })
  budgetUsd?: string | null;
}
