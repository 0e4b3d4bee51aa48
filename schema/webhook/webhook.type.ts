import { Field, Float, ID, Int, ObjectType } from 'type-graphql';
import { connectionType } from '../connection.js';
import { WebhookDeliveryStatus } from '../enums.js';
import { DateTime, Json } from '../scalars.js';

/** Contract 2.15. */
@ObjectType('Webhook', {
  simpleResolvers: true,
  description: 'A registration that gets signed events over HTTPS.',
})
export class WebhookType {
  @Field(() => ID)
  id!: string;

  @Field(() => String)
  name!: string;

  @Field(() => String)
  url!: string;

  @Field(() => [String])
  events!: string[];

  @Field(() => Boolean)
  enabled!: boolean;

  @Field(() => Json, { description: 'Names and values of headers that each delivery carries.' })
  customHeaders!: Record<string, string>;

  @Field(() => Int, { description: 'Failed attempts in a row; ten disable the webhook.' })
  consecutiveFailures!: number;

  @Field(() => String, { nullable: true, description: 'Why it was disabled automatically.' })
  disabledReason!: string | null;

  @Field(() => DateTime, { nullable: true })
  lastDeliveryAt!: Date | null;

  @Field(() => DateTime)
  createdAt!: Date;

  @Field(() => DateTime)
  updatedAt!: Date;

  @Field(() => String, {
    nullable: true,
    description: 'The signing secret, shown only in the answer to createWebhook and rotateWebhookSecret.',
  })
  secret!: string | null;
}

@ObjectType({ simpleResolvers: true })
export class WebhookDeliveryAttempt {
  @Field(() => String, { description: 'ISO 8601.' })
  startedAt!: string;

  @Field(() => Float)
  durationMs!: number;

  @Field(() => Int, { nullable: true })
  statusCode!: number | null;

  @Field(() => String, { nullable: true })
  error!: string | null;

  @Field(() => String, { nullable: true, description: 'At most 64 KB.' })
  responseBody!: string | null;
}

@ObjectType({ simpleResolvers: true, description: 'One event on its way to one webhook.' })
export class WebhookDelivery {
  @Field(() => ID)
  id!: string;

  @Field(() => ID)
  webhookId!: string;

  @Field(() => String)
  eventId!: string;

  @Field(() => String)
  eventType!: string;

  @Field(() => WebhookDeliveryStatus)
  status!: string;

  @Field(() => [WebhookDeliveryAttempt])
  attempts!: WebhookDeliveryAttempt[];

  @Field(() => DateTime, { nullable: true })
  nextAttemptAt!: Date | null;

  @Field(() => DateTime)
  createdAt!: Date;
}

export const WebhookDeliveryConnection = connectionType('WebhookDelivery', () => WebhookDelivery);

@ObjectType({ simpleResolvers: true })
export class DeleteWebhookResult {
  @Field(() => Boolean)
  success!: boolean;
}

@ObjectType({ simpleResolvers: true })
export class RecoverWebhookResult {
  @Field(() => Int, { description: 'How many deliveries were set going.' })
  recovered!: number;
}
