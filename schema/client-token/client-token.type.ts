import { Field, ID, ObjectType } from 'type-graphql';
import type { Scope } from '../../src/contract/words.js';
import { KeyScope } from '../enums.js';
import { DateTime } from '../scalars.js';

@ObjectType({ simpleResolvers: true, description: 'A credential for a browser.' })
export class ClientToken {
  @Field(() => ID, { description: 'Its id, `ctk_…`.' })
  id!: string;

  @Field(() => [KeyScope], { description: 'Its scopes.' })
  scopes!: Scope[];

  @Field(() => DateTime, {
    description: 'When it expires. It ends earlier if the key or the session that created it ends.',
  })
  expiresAt!: Date;
}

@ObjectType({ simpleResolvers: true, description: 'The answer to createClientToken.' })
export class CreateClientTokenResult {
  @Field(() => String, { description: 'The token itself, `ct_…`. Only this answer shows it.' })
  token!: string;

  @Field(() => ClientToken, { description: 'The token, without its text.' })
  clientToken!: ClientToken;
}
