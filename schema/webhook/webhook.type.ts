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
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => String, { description: 'Its name.' })
  name!: string;

  @Field(() => String, { description: 'Where it sends to; HTTPS.' })
  url!: string;

  @Field(() => [String], { description: 'The event types that it sends.' })
  events!: string[];

  @Field(() => Boolean, { description: 'Whether it sends.' })
  enabled!: boolean;

  @Field(() => Json, { description: 'Names and values of headers that each delivery carries.' })
  customHeaders!: Record<string, string>;

  @Field(() => Int, { description: 'Failed attempts in a row; ten disable the webhook.' })
  consecutiveFailures!: number;

  @Field(() => String, { nullable: true, description: 'Why it was disabled automatically.' })
  disabledReason!: string | null;

  @Field(() => DateTime, {
    nullable: true,
    description: 'When the last attempt was made; null before the first.',
  })
  lastDeliveryAt!: Date | null;

  @Field(() => DateTime, { description: 'When it was made.' })
  createdAt!: Date;

  @Field(() => DateTime, { description: 'When it was last changed.' })
  updatedAt!: Date;

  @Field(() => String, {
    nullable: true,
    description: 'The signing secret, shown only where the webhook is made and where its secret is rotated.',
  })
  secret!: string | null;
}

@ObjectType({ simpleResolvers: true, description: 'One attempt of a delivery.' })
export class WebhookDeliveryAttempt {
  @Field(() => String, { description: 'ISO 8601.' })
  startedAt!: string;

  @Field(() => Float, { description: 'Milliseconds.' })
  durationMs!: number;

  @Field(() => Int, { nullable: true, description: 'Status of the answer; null where none came.' })
  statusCode!: number | null;

  @Field(() => String, {
    nullable: true,
    description:
      'Why the attempt failed, `HTTP <status>` where an answer came; null where it was acknowledged.',
  })
  error!: string | null;

  @Field(() => String, { nullable: true, description: 'At most 64 KB.' })
  responseBody!: string | null;
}

@ObjectType({ simpleResolvers: true, description: 'One event on its way to one webhook.' })
export class WebhookDelivery {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => ID, { description: 'The webhook.' })
  webhookId!: string;

  @Field(() => String, { description: 'Id of the event: the same on each attempt.' })
  eventId!: string;

  @Field(() => String, { description: 'Type of the event.' })
  eventType!: string;

  @Field(() => WebhookDeliveryStatus, { description: 'Where it stands.' })
  status!: string;

  @Field(() => [WebhookDeliveryAttempt], { description: 'All attempts so far, oldest first.' })
  attempts!: WebhookDeliveryAttempt[];

  @Field(() => DateTime, { nullable: true, description: 'When the next attempt is due; null where none is.' })
  nextAttemptAt!: Date | null;

  @Field(() => DateTime, { description: 'When the event happened.' })
  createdAt!: Date;
}

export const WebhookDeliveryConnection = connectionType('WebhookDelivery', () => WebhookDelivery);

@ObjectType({ simpleResolvers: true, description: 'The answer to deleteWebhook.' })
export class DeleteWebhookResult {
  @Field(() => Boolean, { description: 'Always true: a failure is an error.' })
  success!: boolean;
}

@ObjectType({ simpleResolvers: true, description: 'The answer to recoverWebhook.' })
export class RecoverWebhookResult {
  @Field(() => Int, { description: 'How many deliveries were set going.' })
  recovered!: number;
}
