import type { Route } from '../shared/route.types.js';
import { BODY_LIMITS } from '../shared/route.types.js';
import { wrapped } from './wrapped.js';

/** decisions 6 "Webhooks"; the secret only in the answers to create and rotate. */
const WEBHOOK = `
  id name url events enabled custom_headers: customHeaders consecutive_failures: consecutiveFailures
  disabled_reason: disabledReason last_delivery_at: lastDeliveryAt created_at: createdAt updated_at: updatedAt`;

const DELIVERY = `
  id webhook_id: webhookId event_id: eventId event_type: eventType status
  attempts { started_at: startedAt duration_ms: durationMs status_code: statusCode error response_body: responseBody }
  next_attempt_at: nextAttemptAt created_at: createdAt`;

const ID = { id: { description: "The webhook's id.", example: 'whk_01jd0000000000000000000000' } };
const DELIVERY_ID = {
  deliveryId: { description: "The delivery's id.", example: 'dlv_01jd0000000000000000000000' },
};

const common = { tag: 'Webhooks' } as const;
const optionalBody = { limitBytes: BODY_LIMITS.small, optional: true };

export const webhookRoutes: Route[] = [
  {
    ...common,
    method: 'POST',
    path: '/webhooks',
    operationId: 'createWebhook',
    summary: 'Create a webhook; only this answer shows its secret',
    document: `mutation ($input: CreateWebhookInput!) { body: createWebhook(input: $input) { ${WEBHOOK} secret } }`,
    body: {
      limitBytes: BODY_LIMITS.small,
      example: {
        name: 'Production',
        url: 'https://example.com/hooks/penstock',
        events: ['generation.completed', 'generation.failed'],
        enabled: true,
      },
    },
    ...wrapped('webhook'),
    schemaName: 'WebhookWithSecret',
  },
  {
    ...common,
    method: 'GET',
    path: '/webhooks',
    operationId: 'listWebhooks',
    summary: 'List webhooks, newest first',
    document: `query { body: webhooks(first: null) { webhooks: nodes { ${WEBHOOK} } } }`,
    schemaName: 'WebhookList',
  },
  {
    ...common,
    method: 'GET',
    path: '/webhooks/{id}',
    operationId: 'getWebhook',
    summary: 'Read a webhook',
    document: `query ($id: ID!) { body: webhook(id: $id) { ${WEBHOOK} } }`,
    parameters: ID,
    ...wrapped('webhook'),
    readsDuringAdmission: true,
    schemaName: 'WebhookAnswer',
  },
  {
    ...common,
    method: 'PATCH',
    path: '/webhooks/{id}',
    operationId: 'updateWebhook',
    summary: 'Change a webhook; `enabled: true` resets its failure count',
    document: `mutation ($id: ID!, $input: UpdateWebhookInput!) { body: updateWebhook(id: $id, input: $input) { ${WEBHOOK} } }`,
    parameters: ID,
    body: { limitBytes: BODY_LIMITS.small, example: { enabled: true } },
    ...wrapped('webhook'),
    schemaName: 'WebhookAnswer',
  },
  {
    ...common,
    method: 'DELETE',
    path: '/webhooks/{id}',
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook with its deliveries',
    document: `mutation ($id: ID!) { body: deleteWebhook(id: $id) { success } }`,
    parameters: ID,
    schemaName: 'Success',
  },
  {
    ...common,
    method: 'POST',
    path: '/webhooks/{id}/test',
    operationId: 'testWebhook',
    summary: 'Send a signed webhook.test now',
    document: `mutation ($id: ID!) { body: testWebhook(id: $id) { ${DELIVERY} } }`,
    parameters: ID,
    ...wrapped('delivery'),
    schemaName: 'WebhookDeliveryAnswer',
  },
  {
    ...common,
    method: 'POST',
    path: '/webhooks/{id}/rotate-secret',
    operationId: 'rotateWebhookSecret',
    summary: 'Create a new secret',
    description:
      'Until the overlap ends, `x-service-signature` uses the old secret and `x-service-signature-next` the new one.',
    document: `mutation ($id: ID!, $input: RotateWebhookSecretInput) {
      body: rotateWebhookSecret(id: $id, input: $input) { ${WEBHOOK} secret }
    }`,
    parameters: ID,
    body: { ...optionalBody, example: { overlap_seconds: 86_400 } },
    ...wrapped('webhook'),
    schemaName: 'WebhookWithSecret',
  },
  {
    ...common,
    method: 'GET',
    path: '/webhooks/{id}/deliveries',
    operationId: 'listWebhookDeliveries',
    summary: 'List deliveries, newest first',
    document: `query ($id: ID!, $status: WebhookDeliveryStatus, $limit: Int = 20, $cursor: String) {
      body: webhookDeliveries(webhookId: $id, status: $status, first: $limit, after: $cursor) {
        deliveries: nodes { ${DELIVERY} } next_cursor: nextCursor
      }
    }`,
    parameters: {
      ...ID,
      status: { description: 'Only deliveries with this status.' },
      limit: { description: 'The maximum of deliveries in the page.', minimum: 1, maximum: 100 },
      cursor: {
        description: '`next_cursor` of the previous page.',
        pattern: '^dlv_[0-9a-z]{26}$',
      },
    },
    schemaName: 'WebhookDeliveryList',
  },
  {
    ...common,
    method: 'POST',
    path: '/webhooks/{id}/deliveries/{deliveryId}/retry',
    operationId: 'retryWebhookDelivery',
    summary: 'Make one more attempt now',
    document: `mutation ($id: ID!, $deliveryId: ID!) {
      body: retryWebhookDelivery(webhookId: $id, id: $deliveryId) { ${DELIVERY} }
    }`,
    parameters: { ...ID, ...DELIVERY_ID },
    ...wrapped('delivery'),
    schemaName: 'WebhookDeliveryAnswer',
  },
  {
    ...common,
    method: 'POST',
    path: '/webhooks/{id}/recover',
    operationId: 'recoverWebhook',
    summary: 'Send the failed and the missed events of a time range again',
    document: `mutation ($id: ID!, $input: RecoverWebhookInput!) { body: recoverWebhook(id: $id, input: $input) { recovered } }`,
    parameters: ID,
    body: { limitBytes: BODY_LIMITS.small, example: { since: '2026-11-20T00:00:00Z' } },
    schemaName: 'WebhookRecovery',
  },
];
