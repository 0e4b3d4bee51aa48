import { Extensions, Field, InputType } from 'type-graphql';
import type { MemberRole as Role } from '../../src/contract/words.js';
import { MemberRole } from '../enums.js';
import { nonBlank } from '../json-schemas.js';

@InputType('AddPenstockMemberInput', { description: 'The person to add.' })
export class AddMemberInput {
  @Extensions({ jsonSchema: { format: 'email', maxLength: 254 } })
  @Field(() => String, { description: "The person's e-mail address." })
  email!: string;

  @Field(() => MemberRole, { nullable: true, description: 'The role of the person. Default member.' })
  role?: Role | null;
}

@InputType('ChangePenstockPasswordInput', { description: 'The current and the new password.' })
export class ChangePasswordInput {
  @Extensions({ jsonSchema: nonBlank(200) })
  @Field(() => String, { description: 'The current password.' })
  currentPassword!: string;

  @Extensions({ jsonSchema: { minLength: 12, maxLength: 200 } })
  @Field(() => String, { description: '12 to 200 characters.' })
  newPassword!: string;
}
