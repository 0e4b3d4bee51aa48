import { Extensions, Field, InputType, Int } from 'type-graphql';
import { CUSTOM_HEADERS, EVENT_TYPES, nonBlank } from '../json-schemas.js';
import type { WebhookFormat as Format } from '../../src/webhooks/index.js';
import { WebhookFormat } from '../enums.js';
import { DateTime, Json, WebhookEventType } from '../scalars.js';

@InputType({ description: 'The address and the event types of a new webhook.' })
export class CreateWebhookInput {
  @Extensions({ jsonSchema: nonBlank(100) })
  @Field(() => String, { description: 'A name for people.' })
  name!: string;

  @Extensions({ jsonSchema: { format: 'uri', pattern: '^https://', maxLength: 2048 } })
  @Field(() => String, { description: 'HTTPS only.' })
  url!: string;

  @Extensions({ jsonSchema: EVENT_TYPES })
  @Field(() => [WebhookEventType], { description: 'Event types (contract 6.1).' })
  events!: string[];

  @Extensions({ jsonSchema: { default: true } })
  @Field(() => Boolean, { nullable: true, description: 'Default true.' })
  enabled?: boolean | null;

  @Extensions({ jsonSchema: { default: 'json' } })
  @Field(() => WebhookFormat, { nullable: true, description: 'The body of a delivery. Default json.' })
  format?: Format | null;

  @Extensions({ jsonSchema: CUSTOM_HEADERS })
  @Field(() => Json, { nullable: true, description: 'At most 20 names and values.' })
  customHeaders?: Record<string, unknown> | null;
}

@InputType({
  description:
    'The changes of a webhook. Absent fields stay as they are. `enabled: true` resets the failure count.',
})
export class UpdateWebhookInput {
  @Extensions({ notNull: true, jsonSchema: nonBlank(100) })
  @Field(() => String, { nullable: true, description: 'A name for people.' })
  name?: string | null;

  @Extensions({ notNull: true, jsonSchema: { format: 'uri', pattern: '^https://', maxLength: 2048 } })
  @Field(() => String, { nullable: true, description: 'HTTPS only.' })
  url?: string | null;

  @Extensions({ notNull: true, jsonSchema: EVENT_TYPES })
  @Field(() => [WebhookEventType], {
    nullable: true,
    description: 'Event types; the list replaces the old one.',
  })
  events?: string[] | null;

  @Extensions({ notNull: true })
  @Field(() => Boolean, { nullable: true, description: 'Whether events are sent.' })
  enabled?: boolean | null;

  @Extensions({ notNull: true })
  @Field(() => WebhookFormat, { nullable: true, description: 'The body of a delivery.' })
  format?: Format | null;

  @Extensions({ jsonSchema: CUSTOM_HEADERS })
  @Field(() => Json, {
    nullable: true,
    description: 'At most 20 names and values; they replace the old ones.',
  })
  customHeaders?: Record<string, unknown> | null;
}

@InputType({ description: 'How long deliveries are signed with both secrets.' })
export class RotateWebhookSecretInput {
  @Extensions({ jsonSchema: { minimum: 0, maximum: 604_800, default: 86_400 } })
  @Field(() => Int, {
    nullable: true,
    description: '0 to 604800, default 86400. With 0 only the new secret is used at once.',
  })
  overlapSeconds?: number | null;
}

@InputType({ description: 'A time range.' })
export class RecoverWebhookInput {
  @Extensions({ jsonSchema: { format: 'date-time' } })
  @Field(() => DateTime, { description: 'From when on.' })
  since!: Date;

  @Extensions({ jsonSchema: { format: 'date-time' } })
  @Field(() => DateTime, { nullable: true, description: 'Until when; default now.' })
  until?: Date | null;
}
