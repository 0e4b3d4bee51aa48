import { Extensions, Field, InputType } from 'type-graphql';
import type { Scope } from '../../src/contract/words.js';
import { KeyScope } from '../enums.js';
import { nonBlank } from '../json-schemas.js';
import { DateTime } from '../scalars.js';

@InputType({ description: 'The name and the scopes of a new key.' })
export class CreateApiKeyInput {
  @Extensions({ jsonSchema: nonBlank(200) })
  @Field(() => String, { description: 'A name for people.' })
  name!: string;

  @Field(() => [KeyScope], { description: 'At least one.' })
  scopes!: Scope[];

  @Field(() => DateTime, { nullable: true, description: 'When it expires. Default: never.' })
  expiresAt?: Date | null;
}
