import { Extensions, Field, InputType, Int } from 'type-graphql';
import type { Scope } from '../../src/contract/words.js';
import { KeyScope } from '../enums.js';
import { nonBlank } from '../json-schemas.js';
import { DateTime } from '../scalars.js';

@InputType({ description: "A key's own window of requests, at most that of the plan." })
export class KeyRateInput {
  @Field(() => Int, { description: 'Requests in a minute.' })
  rpm!: number;

  @Field(() => Int, { description: 'Requests at once.' })
  burst!: number;
}

const MODELS = 'Ids of models, and `provider/*`, that the key may call; at most 100. Null: all.';
const RATE = "The key's own window of requests. Null: that of the plan.";
const END_USER = 'All calls of the key count for this end user, whatever they say themselves.';
const TAGS = 'All calls of the key have these tags, at most 10.';
const EXPIRES = 'When it expires. Null: never.';

@InputType({ description: 'The name, the scopes and the limits of a new key.' })
export class CreateApiKeyInput {
  @Extensions({ jsonSchema: nonBlank(200) })
  @Field(() => String, { description: 'A name for people.' })
  name!: string;

  @Field(() => [KeyScope], { description: 'At least one.' })
  scopes!: Scope[];

  @Field(() => DateTime, { nullable: true, description: 'When it expires. Default: never.' })
  expiresAt?: Date | null;

  @Field(() => [String], { nullable: true, description: MODELS })
  models?: string[] | null;

  @Field(() => KeyRateInput, { nullable: true, description: RATE })
  rate?: KeyRateInput | null;

  @Field(() => String, { nullable: true, description: END_USER })
  endUser?: string | null;

  @Field(() => [String], { nullable: true, description: TAGS })
  tags?: string[] | null;
}

@InputType({ description: 'What is to be changed of a key; what is absent stays as it is.' })
export class UpdateApiKeyInput {
  @Extensions({ jsonSchema: nonBlank(200) })
  @Field(() => String, { nullable: true, description: 'A name for people.' })
  name?: string | null;

  @Field(() => [KeyScope], { nullable: true, description: 'At least one.' })
  scopes?: Scope[] | null;

  @Field(() => DateTime, { nullable: true, description: EXPIRES })
  expiresAt?: Date | null;

  @Field(() => [String], { nullable: true, description: MODELS })
  models?: string[] | null;

  @Field(() => KeyRateInput, { nullable: true, description: RATE })
  rate?: KeyRateInput | null;

  @Field(() => String, { nullable: true, description: END_USER })
  endUser?: string | null;

  @Field(() => [String], { nullable: true, description: TAGS })
  tags?: string[] | null;
}
