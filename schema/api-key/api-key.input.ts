import { Extensions, Field, InputType, Int } from 'type-graphql';
import type { Scope } from '../../src/contract/words.js';
import { KeyScope } from '../enums.js';
import { nonBlank } from '../json-schemas.js';
import { DateTime } from '../scalars.js';

@Extensions({ closed: true })
@InputType({ description: "A key's own rate limit, which may not exceed that of the plan." })
export class KeyRateInput {
  @Extensions({ jsonSchema: { minimum: 1, maximum: 1_000_000 } })
  @Field(() => Int, { description: 'Requests per minute.' })
  rpm!: number;

  @Extensions({ jsonSchema: { minimum: 1, maximum: 1_000_000 } })
  @Field(() => Int, { description: 'Requests that may arrive at once.' })
  burst!: number;
}

@InputType()
abstract class ApiKeyLimits {
  @Field(() => DateTime, { nullable: true, description: 'The time at which the key expires. Null: never.' })
  expiresAt?: Date | null;

  @Field(() => [String], {
    nullable: true,
    description:
      'The models that the key may call: ids, or `provider/*` for all of a provider; at most 100. Null: all models.',
  })
  models?: string[] | null;

  @Field(() => KeyRateInput, {
    nullable: true,
    description: "The key's own rate limit. Null: that of the plan.",
  })
  rate?: KeyRateInput | null;

  @Field(() => String, {
    nullable: true,
    description: 'All calls of the key are recorded for this end user, whatever end user they name.',
  })
  endUser?: string | null;

  @Field(() => [String], {
    nullable: true,
    description: 'All calls of the key are recorded with these tags; at most 10.',
  })
  tags?: string[] | null;
}

@InputType({ description: 'The name, the scopes and the limits of a new key.' })
export class CreateApiKeyInput extends ApiKeyLimits {
  @Extensions({ jsonSchema: nonBlank(200) })
  @Field(() => String, { description: 'A name for people.' })
  name!: string;

  @Field(() => [KeyScope], { description: 'At least one.' })
  scopes!: Scope[];
}

@InputType({ description: 'The changes to a key. Absent fields keep their values.' })
export class UpdateApiKeyInput extends ApiKeyLimits {
  @Extensions({ jsonSchema: nonBlank(200) })
  @Field(() => String, { nullable: true, description: 'A name for people.' })
  name?: string | null;

  @Field(() => [KeyScope], { nullable: true, description: 'At least one.' })
  scopes?: Scope[] | null;
}
