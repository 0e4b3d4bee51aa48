import { Field, Float, ID, Int, ObjectType } from 'type-graphql';
import { connectionType } from '../connection.js';
import type { WebhookFormat as Format } from '../../src/webhooks/index.js';
import { WebhookDeliveryStatus, WebhookFormat } from '../enums.js';
import { DateTime, Json, WebhookEventType } from '../scalars.js';

/** Contract 2.15. */
@ObjectType('Webhook', {
  simpleResolvers: true,
  description: 'A webhook: an address that receives signed events over HTTPS.',
})
export class WebhookType {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => String, { description: 'Its name.' })
  name!: string;

  @Field(() => String, { description: 'The address that events are sent to; HTTPS.' })
  url!: string;

  @Field(() => [WebhookEventType], { description: 'The event types that it sends.' })
  events!: string[];

  @Field(() => Boolean, { description: 'Whether events are sent.' })
  enabled!: boolean;

  @Field(() => WebhookFormat, { description: 'What a delivery has as its body.' })
  format!: Format;

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

  @Field(() => DateTime, { description: 'When it was created.' })
  createdAt!: Date;

  @Field(() => DateTime, { description: 'When it was last changed.' })
  updatedAt!: Date;

  @Field(() => String, {
    nullable: true,
    description:
      'The signing secret. It is shown only when the webhook is created and when its secret is rotated.',
  })
  secret!: string | null;
}

export const WebhookConnection = connectionType('Webhook', () => WebhookType);

@ObjectType({ simpleResolvers: true, description: 'One attempt of a delivery.' })
export class WebhookDeliveryAttempt {
  @Field(() => DateTime, { description: 'When it was made.' })
  startedAt!: string;

  @Field(() => Float, { description: 'Milliseconds.' })
  durationMs!: number;

  @Field(() => Int, {
    nullable: true,
    description: 'The HTTP status of the answer; null if there was no answer.',
  })
  statusCode!: number | null;

  @Field(() => String, {
    nullable: true,
    description: 'Why the attempt failed (`HTTP <status>` if there was an answer); null if it succeeded.',
  })
  error!: string | null;

  @Field(() => String, { nullable: true, description: 'The body of the answer, at most 64 KB.' })
  responseBody!: string | null;
}

@ObjectType({ simpleResolvers: true, description: 'The request of a delivery.' })
export class WebhookDeliveryRequest {
  @Field(() => Json, {
    description: 'Its headers. The signature and the values of custom headers are `***`.',
  })
  headers!: Record<string, string>;

  @Field(() => Json, { description: 'Its body as the receiver reads it.' })
  body!: unknown;
}

@ObjectType({
  simpleResolvers: true,
  description:
    'How the deliveries of the last seven days to a webhook ended; of the newest 10,000. Without the ones that retention has deleted.',
})
export class WebhookOutcomes {
  @Field(() => Int, { description: 'Acknowledged ones.' })
  succeeded!: number;

  @Field(() => Int, { description: 'Those that are not tried again.' })
  failed!: number;

  @Field(() => Int, { description: 'Those that are still tried.' })
  pending!: number;
}

@ObjectType({ simpleResolvers: true, description: 'The delivery of one event to one webhook.' })
export class WebhookDelivery {
  @Field(() => ID, { description: 'Its id.' })
  id!: string;

  @Field(() => ID, { description: 'The webhook.' })
  webhookId!: string;

  @Field(() => String, { description: 'The id of the event, the same in each attempt.' })
  eventId!: string;

  @Field(() => WebhookEventType, { description: 'Type of the event.' })
  eventType!: string;

  @Field(() => WebhookDeliveryStatus, { description: 'Its status.' })
  status!: string;

  @Field(() => [WebhookDeliveryAttempt], { description: 'All attempts so far, oldest first.' })
  attempts!: WebhookDeliveryAttempt[];

  @Field(() => DateTime, {
    nullable: true,
    description: 'When the next attempt is due; null if there is none.',
  })
  nextAttemptAt!: Date | null;

  @Field(() => DateTime, { description: 'When the event happened.' })
  createdAt!: Date;
}

export const WebhookDeliveryConnection = connectionType('WebhookDelivery', () => WebhookDelivery);

@ObjectType({ simpleResolvers: true, description: 'The answer to deleteWebhook.' })
export class DeleteWebhookResult {
  @Field(() => ID, { description: 'The id of what is gone.' })
  id!: string;

  @Field(() => Boolean, { description: 'Always true: a failure is an error.' })
  success!: boolean;

  @Field(() => WebhookType, { description: 'The webhook as it was.' })
  webhook!: Omit<WebhookType, 'secret'>;
}

@ObjectType({ simpleResolvers: true, description: 'The answer to recoverWebhook.' })
export class RecoverWebhookResult {
  @Field(() => Int, { description: 'The number of deliveries that were started again.' })
  recovered!: number;

  @Field(() => WebhookType, { description: 'The webhook.' })
  webhook!: () => Promise<Omit<WebhookType, 'secret'>>;
}
