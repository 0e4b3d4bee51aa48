import { Field, InputType, Int } from 'type-graphql';
import { Json } from '../scalars.js';

@InputType({ description: 'Contract 4.13.' })
export class CreateWebhookInput {
  @Field(() => String)
  name!: string;

  @Field(() => String, { description: 'HTTPS only.' })
  url!: string;

  @Field(() => [String], { description: 'Event types (contract 6.1).' })
  events!: string[];

  @Field(() => Boolean, { nullable: true, description: 'Default true.' })
  enabled?: boolean | null;

  @Field(() => Json, { nullable: true, description: 'At most 20 names and values.' })
  customHeaders?: Record<string, unknown> | null;
}

@InputType({
  description: 'Fields that are left out stay as they are; `enabled: true` clears the failure count.',
})
export class UpdateWebhookInput {
  @Field(() => String, { nullable: true })
  name?: string | null;

  @Field(() => String, { nullable: true })
  url?: string | null;

  @Field(() => [String], { nullable: true })
  events?: string[] | null;

  @Field(() => Boolean, { nullable: true })
  enabled?: boolean | null;

  @Field(() => Json, { nullable: true })
  customHeaders?: Record<string, unknown> | null;
}

@InputType()
export class RotateWebhookSecretInput {
  @Field(() => Int, { nullable: true, description: 'Default 86400, 0 to 604800; 0 switches at once.' })
  overlapSeconds?: number | null;
}

@InputType()
export class RecoverWebhookInput {
  @Field(() => String, { description: 'ISO 8601.' })
  since!: string;

  @Field(() => String, { nullable: true, description: 'ISO 8601; default now.' })
  until?: string | null;
}
