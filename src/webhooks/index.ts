/**
 * Webhooks (contract 2.15, 6.1): registrations, and deliveries with their attempts.
 *
 * How an event becomes deliveries is not in this folder. It is the trigger `outbox_webhooks` on the table `outbox`, with its function
 * `penstock_webhook_fan_out` (migrations/current/webhooks/fan_out.sql): it runs in the transaction that the event happens in.
 */
export { createDeliveryWorker } from './delivery.worker.js';
export { resealSecrets, sweepDeliveries } from './delivery.queries.js';
export type { DeliveryObserver, DeliveryWorker, DeliveryWorkerOptions } from './delivery.worker.js';
export { storeWebhookPlans } from './plans.js';
export { createSecretBox } from './secret-box.js';
export type { SecretBox } from './secret-box.js';
export { signatureHeaders } from './signature.js';
export { createWebhookService } from './webhook.service.js';
export type { WebhookServiceOptions } from './webhook.service.js';
export { WEBHOOK_EVENT_TYPES, WEBHOOK_FORMATS } from './webhook.types.js';
export type {
  Delivery,
  DeliveryAttempt,
  DeliveryOutcomes,
  SentRequest,
  Webhook,
  WebhookEventType,
  WebhookFormat,
  WebhookService,
} from './webhook.types.js';
