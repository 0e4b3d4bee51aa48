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
    customHeaders
    recent {
      succeeded
      failed
      pending
    }
  }
`);

export const WEBHOOKS = graphql(
  `
    query Webhooks {
      webhooks(first: null) {
        nodes {
          ...WebhookRow
        }
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
        request {
          headers
          body
        }
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

export const RECOVER = graphql(`
  mutation RecoverWebhook($id: ID!, $input: RecoverWebhookInput!) {
    recoverWebhook(id: $id, input: $input) {
      recovered
    }
  }
`);

/** A registered webhook. */
export type Webhook = ResultOf<typeof ONE_WEBHOOK>['webhook'];
/** The delivery of one event to a webhook. */
export type Delivery = ResultOf<typeof DELIVERIES>['webhookDeliveries']['nodes'][number];
/** The state of a delivery. */
export type DeliveryStatus = Delivery['status'];
