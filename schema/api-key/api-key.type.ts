import { Field, ID, ObjectType } from 'type-graphql';
import type { Scope } from '../../src/contract/words.js';
import { KeyScope } from '../enums.js';

@ObjectType('ApiKey', { simpleResolvers: true, description: 'A key of the organisation, without its text.' })
export class ApiKeyType {
  @Field(() => ID, { description: 'Its id, `key_…`.' })
  id!: string;

  @Field(() => String, { description: 'A name for people.' })
  name!: string;

  @Field(() => String, { description: 'The first 11 characters.' })
  prefix!: string;

  @Field(() => [KeyScope], { description: 'What it may do.' })
  scopes!: Scope[];

  @Field(() => String, { nullable: true, description: 'When it stops being valid, ISO 8601; null: never.' })
  expiresAt!: string | null;

  @Field(() => String, { nullable: true, description: 'When it was revoked, ISO 8601; null: it was not.' })
  revokedAt!: string | null;

  @Field(() => String, { nullable: true, description: 'When it was last used, ISO 8601; null: never.' })
  lastUsedAt!: string | null;

  @Field(() => String, { description: 'When it was made, ISO 8601.' })
  createdAt!: string;

  @Field(() => String, {
    description: 'The e-mail address of the person who made it, as it was then; or `command line`.',
  })
  createdBy!: string;
}

@ObjectType({ simpleResolvers: true, description: 'The answer to createApiKey.' })
export class CreateApiKeyResult {
  @Field(() => ApiKeyType, { description: 'The key as lists show it.' })
  apiKey!: ApiKeyType;

  @Field(() => String, { description: 'Its text, `sk_…`: only this answer shows it.' })
  key!: string;
}

@ObjectType({ simpleResolvers: true, description: 'The answer to revokeApiKey.' })
export class RevokeApiKeyResult {
  @Field(() => Boolean, { description: 'Always true: a failure is an error.' })
  success!: boolean;

  @Field(() => ApiKeyType, { description: 'The key, as it is from now on.' })
  apiKey!: ApiKeyType;
}
