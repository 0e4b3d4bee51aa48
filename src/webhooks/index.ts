export { createDeliveryWorker } from './delivery.worker.js';
export { resealSecrets, sweepDeliveries } from './delivery.queries.js';
export type { DeliveryObserver, DeliveryWorker, DeliveryWorkerOptions } from './delivery.worker.js';
export { storeWebhookPlans } from './plans.js';
export { createSecretBox } from './secret-box.js';
export type { SecretBox } from './secret-box.js';
export { signatureHeaders } from './signature.js';
export { createWebhookService } from './webhook.service.js';
export type { WebhookServiceOptions } from './webhook.service.js';
export { WEBHOOK_EVENT_TYPES } from './webhook.types.js';
export type {
  Delivery,
  DeliveryAttempt,
  Webhook,
  WebhookEventType,
  WebhookService,
} from './webhook.types.js';
