import { Field, ID, Int, ObjectType } from 'type-graphql';
import type { Scope } from '../../src/contract/words.js';
import { connectionType } from '../connection.js';
import { KeyScope } from '../enums.js';
import { DateTime } from '../scalars.js';

@ObjectType({ simpleResolvers: true, description: "A key's own rate limit." })
export class KeyRate {
  @Field(() => Int, { description: 'Requests per minute.' })
  rpm!: number;

  @Field(() => Int, { description: 'Requests that may arrive at once.' })
  burst!: number;
}

@ObjectType('ApiKey', {
  simpleResolvers: true,
  description: 'An API key of the organisation. The key itself is not shown.',
})
export class ApiKeyType {
  @Field(() => ID, { description: 'Its id, `key_…`.' })
  id!: string;

  @Field(() => String, { description: 'A name for people.' })
  name!: string;

  @Field(() => String, { description: 'The first 11 characters of the key.' })
  prefix!: string;

  @Field(() => [KeyScope], { description: 'Its scopes: what the key may do.' })
  scopes!: Scope[];

  @Field(() => DateTime, {
    nullable: true,
    description: 'When it expires; null if it never expires.',
  })
  expiresAt!: string | null;

  @Field(() => DateTime, { nullable: true, description: 'When it was revoked; null if it was not.' })
  revokedAt!: string | null;

  @Field(() => DateTime, {
    nullable: true,
    description: 'When it was last used; null if it was never used.',
  })
  lastUsedAt!: string | null;

  @Field(() => DateTime, { description: 'When it was created.' })
  createdAt!: string;

  @Field(() => String, {
    description:
      'The e-mail address of the person who created it, as it was at that time; or `command line`.',
  })
  createdBy!: string;

  @Field(() => [String], {
    nullable: true,
    description:
      'The models that it may call: ids, or `provider/*` for all of a provider; null if it may call all models.',
  })
  models!: string[] | null;

  @Field(() => KeyRate, {
    nullable: true,
    description: "Its own rate limit; null if only the plan's applies.",
  })
  rate!: KeyRate | null;

  @Field(() => String, {
    nullable: true,
    description: 'The end user for whom all of its calls are recorded; null if none.',
  })
  endUser!: string | null;

  @Field(() => [String], { description: 'The tags with which all of its calls are recorded.' })
  tags!: string[];
}

export const ApiKeyConnection = connectionType('ApiKey', () => ApiKeyType);

@ObjectType({ simpleResolvers: true, description: 'The answer to createApiKey.' })
export class CreateApiKeyResult {
  @Field(() => ApiKeyType, { description: 'The new key, without the key itself.' })
  apiKey!: ApiKeyType;

  @Field(() => String, { description: 'The key itself, `sk_…`. Only this answer shows it.' })
  key!: string;
}

@ObjectType({ simpleResolvers: true, description: 'The answer to rotateApiKey.' })
export class RotateApiKeyResult {
  @Field(() => ApiKeyType, { description: 'The key; its id and its limits have not changed.' })
  apiKey!: ApiKeyType;

  @Field(() => String, { description: 'Its new secret, `sk_…`. Only this answer shows it.' })
  key!: string;
}

@ObjectType({ simpleResolvers: true, description: 'The answer to revokeApiKey.' })
export class RevokeApiKeyResult {
  @Field(() => Boolean, { description: 'Always true: a failure is an error.' })
  success!: boolean;

  @Field(() => ApiKeyType, { description: 'The revoked key.' })
  apiKey!: ApiKeyType;
}
