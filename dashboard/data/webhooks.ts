import { graphql, type ResultOf } from './graphql.js';

const WEBHOOK = graphql(`
  fragment WebhookRow on Webhook {
    id
    name
    url
    events
    format
    enabled
    consecutiveFailures
    disabledReason
    lastDeliveryAt
    createdAt
  }
`);

export const WEBHOOKS = graphql(
  `
    query Webhooks {
      webhooks {
        ...WebhookRow
      }
    }
  `,
  [WEBHOOK],
);

export const ONE_WEBHOOK = graphql(
  `
    query Webhook($id: ID!) {
      webhook(id: $id) {
        ...WebhookRow
      }
    }
  `,
  [WEBHOOK],
);

export const CREATE_WEBHOOK = graphql(`
  mutation CreateWebhook($input: CreateWebhookInput!) {
    createWebhook(input: $input) {
      id
      secret
    }
  }
`);

export const UPDATE_WEBHOOK = graphql(`
  mutation UpdateWebhook($id: ID!, $input: UpdateWebhookInput!) {
    updateWebhook(id: $id, input: $input) {
      id
    }
  }
`);

export const DELETE_WEBHOOK = graphql(`
  mutation DeleteWebhook($id: ID!) {
    deleteWebhook(id: $id) {
      success
    }
  }
`);

export const TEST_WEBHOOK = graphql(`
  mutation TestWebhook($id: ID!) {
    testWebhook(id: $id) {
      status
      attempts {
        statusCode
        error
        durationMs
      }
    }
  }
`);

export const ROTATE_SECRET = graphql(`
  mutation RotateWebhookSecret($id: ID!, $input: RotateWebhookSecretInput) {
    rotateWebhookSecret(id: $id, input: $input) {
      secret
    }
  }
`);

export const DELIVERIES = graphql(`
  query WebhookDeliveries($webhookId: ID!, $status: WebhookDeliveryStatus, $first: Int, $after: String) {
    webhookDeliveries(webhookId: $webhookId, status: $status, first: $first, after: $after) {
      nodes {
        id
        eventId
        eventType
        status
        nextAttemptAt
        createdAt
        attempts {
          startedAt
          durationMs
          statusCode
          error
          responseBody
        }
      }
      nextCursor
    }
  }
`);

export const RETRY_DELIVERY = graphql(`
  mutation RetryWebhookDelivery($id: ID!, $webhookId: ID!) {
    retryWebhookDelivery(id: $id, webhookId: $webhookId) {
      id
      status
    }
  }
`);

/** A registration. */
export type Webhook = ResultOf<typeof ONE_WEBHOOK>['webhook'];
/** An event on its way to it. */
export type Delivery = ResultOf<typeof DELIVERIES>['webhookDeliveries']['nodes'][number];
/** Where a delivery stands. */
export type DeliveryStatus = Delivery['status'];
