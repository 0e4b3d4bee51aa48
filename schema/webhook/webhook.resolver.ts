import { Arg, Ctx, ID, Mutation, Query, Resolver } from 'type-graphql';
import type { Delivery, Webhook } from '../../src/webhooks/index.js';
import { After, Before, First, FirstOrAll, Last, pageOrAll, pageQuery, toConnection } from '../connection.js';
import type { Connection } from '../connection.js';
import type { GraphqlContext } from '../context.js';
import { WebhookDeliveryStatus } from '../enums.js';
import { requireWebhooks, Scope } from '../guard.js';
import { contractNames } from '../names.js';
import {
  CreateWebhookInput,
  RecoverWebhookInput,
  RotateWebhookSecretInput,
  UpdateWebhookInput,
} from './webhook.input.js';
import {
  DeleteWebhookResult,
  RecoverWebhookResult,
  WebhookConnection,
  WebhookDelivery,
  WebhookDeliveryConnection,
  WebhookType,
} from './webhook.type.js';

const bodyOf = (context: GraphqlContext, input: object | null | undefined): Record<string, unknown> =>
  context.body ?? contractNames(input ?? {});

/** The service reads times as texts, like those of a REST body. */
const spanOf = ({ since, until }: RecoverWebhookInput): object => ({
  since: since.toISOString(),
  ...(until == null ? {} : { until: until.toISOString() }),
});

/** A header's value may be the receiver's secret, so only people who manage webhooks see it. */
export function showWebhook({ call }: GraphqlContext, webhook: Webhook): Webhook {
  const { person } = call.principal;
  if (person === undefined || person.role === 'owner' || person.role === 'admin') return webhook;
  const names = Object.keys(webhook.customHeaders);
  return { ...webhook, customHeaders: Object.fromEntries(names.map((name) => [name, '***'])) };
}

@Resolver(() => WebhookType)
export class WebhookResolver {
  @Scope('webhooks')
  @Query(() => WebhookConnection, { description: "The organisation's webhooks, newest first." })
  async webhooks(
    @Ctx() context: GraphqlContext,
    @FirstOrAll() first: number | null,
    @After() after: string | null | undefined,
    @Last() last: number | null | undefined,
    @Before() before: string | null | undefined,
  ): Promise<Connection<Webhook>> {
    const { call, services } = context;
    // The plan comes before the arguments.
    requireWebhooks(call);
    const page = await services.webhooks.page(call.principal, pageOrAll({ first, after, last, before }));
    const nodes = page.nodes.map((webhook) => showWebhook(context, webhook));
    return toConnection({ ...page, nodes }, after);
  }

  @Scope('webhooks')
  @Query(() => WebhookType, { description: 'One webhook of the organisation.' })
  async webhook(
    @Ctx() context: GraphqlContext,
    @Arg('id', () => ID, { description: 'Id of the webhook.' }) id: string,
  ): Promise<Webhook> {
    return showWebhook(context, await context.services.webhooks.get(context.call.principal, id));
  }

  @Scope('webhooks')
  @Query(() => WebhookDeliveryConnection, { description: 'Deliveries of one webhook, newest first.' })
  async webhookDeliveries(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('webhookId', () => ID, { description: 'Id of the webhook.' }) webhookId: string,
    @Arg('status', () => WebhookDeliveryStatus, {
      nullable: true,
      description: 'Only deliveries with this status.',
    })
    status: string | null | undefined,
    @First() first: number | null,
    @After() after: string | null | undefined,
    @Last() last: number | null | undefined,
    @Before() before: string | null | undefined,
  ): Promise<Connection<Delivery>> {
    requireWebhooks(call);
    const page = await services.webhooks.deliveries(call.principal, webhookId, {
      ...pageQuery({ first, after, last, before }),
      ...(status == null ? {} : { status }),
    });
    return toConnection(page, after);
  }

  @Scope('webhooks', 'admin')
  @Mutation(() => WebhookType, { description: 'Creates a webhook. Only this answer shows its secret.' })
  createWebhook(
    @Ctx() context: GraphqlContext,
    @Arg('input', () => CreateWebhookInput, {
      description: 'The address and the event types of a new webhook.',
    })
    input: CreateWebhookInput,
  ): Promise<Webhook> {
    return context.services.webhooks.create(context.call, bodyOf(context, input));
  }

  @Scope('webhooks', 'admin')
  @Mutation(() => WebhookType, {
    description: 'Changes a webhook. `enabled: true` enables a disabled webhook again.',
  })
  updateWebhook(
    @Ctx() context: GraphqlContext,
    @Arg('id', () => ID, { description: 'Id of the webhook.' }) id: string,
    @Arg('input', () => UpdateWebhookInput, { description: 'The changes.' }) input: UpdateWebhookInput,
  ): Promise<Webhook> {
    return context.services.webhooks.update(context.call.principal, id, bodyOf(context, input));
  }

  @Scope('webhooks', 'admin')
  @Mutation(() => DeleteWebhookResult, { description: 'Deletes a webhook and its pending deliveries.' })
  async deleteWebhook(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('id', () => ID, { description: 'Id of the webhook.' }) id: string,
  ): Promise<DeleteWebhookResult> {
    return { id, success: true, webhook: await services.webhooks.delete(call.principal, id) };
  }

  @Scope('webhooks', 'admin')
  @Mutation(() => WebhookDelivery, { description: 'Sends a signed `webhook.test` event now.' })
  testWebhook(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('id', () => ID, { description: 'Id of the webhook.' }) id: string,
  ): Promise<Delivery> {
    return services.webhooks.test(call.principal, id);
  }

  @Scope('webhooks', 'admin')
  @Mutation(() => WebhookType, {
    description: 'Creates a new secret. During the overlap, deliveries are signed with both secrets.',
  })
  rotateWebhookSecret(
    @Ctx() context: GraphqlContext,
    @Arg('id', () => ID, { description: 'Id of the webhook.' }) id: string,
    @Arg('input', () => RotateWebhookSecretInput, {
      nullable: true,
      description: 'Default: both secrets are used for one day.',
    })
    input: RotateWebhookSecretInput | null | undefined,
  ): Promise<Webhook> {
    return context.services.webhooks.rotateSecret(context.call, id, bodyOf(context, input));
  }

  @Scope('webhooks', 'admin')
  @Mutation(() => WebhookDelivery, { description: 'Makes one more attempt now.' })
  retryWebhookDelivery(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('webhookId', () => ID, { description: 'Id of its webhook.' }) webhookId: string,
    @Arg('id', () => ID, { description: 'Id of the delivery.' }) id: string,
  ): Promise<Delivery> {
    return services.webhooks.retry(call.principal, webhookId, id);
  }

  @Scope('webhooks', 'admin')
  @Mutation(() => RecoverWebhookResult, {
    description: 'Sends the failed and the missed events of a time range again.',
  })
  async recoverWebhook(
    @Ctx() context: GraphqlContext,
    @Arg('id', () => ID, { description: 'Id of the webhook.' }) id: string,
    @Arg('input', () => RecoverWebhookInput, { description: 'The time range.' }) input: RecoverWebhookInput,
  ): Promise<RecoverWebhookResult> {
    const { call, services } = context;
    const body = context.body ?? contractNames(spanOf(input));
    const recovered = await services.webhooks.recover(call.principal, id, body);
    return { recovered, webhook: () => this.webhook(context, id) };
  }
}
