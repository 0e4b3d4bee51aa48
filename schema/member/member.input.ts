import { Extensions, Field, InputType } from 'type-graphql';
import type { MemberRole as Role } from '../../src/contract/words.js';
import { MemberRole } from '../enums.js';
import { nonBlank } from '../json-schemas.js';

@InputType({ description: 'Whom to add.' })
export class AddMemberInput {
  @Extensions({ jsonSchema: { format: 'email', maxLength: 254 } })
  @Field(() => String, { description: 'Their address.' })
  email!: string;

  @Field(() => MemberRole, { nullable: true, description: 'Default member.' })
  role?: Role | null;
}

@InputType({ description: 'The old password and the new one.' })
export class ChangePasswordInput {
  @Extensions({ jsonSchema: nonBlank(200) })
  @Field(() => String, { description: 'The password until now.' })
  currentPassword!: string;

  @Extensions({ jsonSchema: { minLength: 12, maxLength: 200 } })
  @Field(() => String, { description: '12 to 200 characters.' })
  newPassword!: string;
}
