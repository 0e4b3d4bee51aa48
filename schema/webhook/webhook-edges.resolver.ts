import { Ctx, FieldResolver, Resolver, Root } from 'type-graphql';
import type { Delivery, DeliveryOutcomes, SentRequest, Webhook } from '../../src/webhooks/index.js';
import { loadOne } from '../batch.js';
import type { GraphqlContext } from '../context.js';
import { showWebhook } from './webhook.resolver.js';
import { WebhookDelivery, WebhookDeliveryRequest, WebhookOutcomes, WebhookType } from './webhook.type.js';

const NONE: DeliveryOutcomes = { succeeded: 0, failed: 0, pending: 0 };

/** The deliveries' outcomes of webhooks; one statement for a list. */
@Resolver(() => WebhookType)
export class WebhookOutcomesResolver {
  @FieldResolver(() => WebhookOutcomes, { description: 'How its deliveries of the last seven days ended.' })
  async recent(
    @Root() { id }: Webhook,
    @Ctx() { call, services }: GraphqlContext,
  ): Promise<DeliveryOutcomes> {
    const found = await loadOne<DeliveryOutcomes>(call, id, {
      key: WebhookOutcomesResolver,
      read: ({ principal }, ids) => services.webhooks.outcomes(principal.orgId, ids),
    });
    return found ?? NONE;
  }
}

/** What deliveries send, and for which webhook: one statement for a page. */
@Resolver(() => WebhookDelivery)
export class WebhookDeliveryEdges {
  @FieldResolver(() => WebhookType, {
    nullable: true,
    description: 'The webhook; null if it was deleted meanwhile.',
  })
  async webhook(@Root() { webhookId }: Delivery, @Ctx() context: GraphqlContext): Promise<Webhook | null> {
    const { webhooks } = context.services;
    const found = await loadOne<Webhook>(context.call, webhookId, {
      key: webhooks,
      read: async ({ principal }, ids) =>
        new Map((await webhooks.getMany(principal, ids)).map((webhook) => [webhook.id, webhook])),
    });
    return found && showWebhook(context, found);
  }

  @FieldResolver(() => WebhookDeliveryRequest, {
    nullable: true,
    description: 'What it sends; null if its event was deleted meanwhile.',
  })
  request(@Root() { id }: Delivery, @Ctx() { call, services }: GraphqlContext): Promise<SentRequest | null> {
    return loadOne(call, id, {
      key: WebhookDeliveryEdges,
      read: ({ principal }, ids) => services.webhooks.sent(principal.orgId, ids),
    });
  }
}
