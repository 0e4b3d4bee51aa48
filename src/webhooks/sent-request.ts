import { slackText } from './slack.js';
import type { SentRequest, WebhookFormat } from './webhook.types.js';

/** A delivery with its event and what of its webhook shapes the request. */
export interface SentRow {
  id: string;
  eventId: string;
  eventType: string;
  event: Record<string, unknown>;
  format: WebhookFormat;
  /** Of custom headers. */
  names: string[];
  /** ISO 8601; null: there was no attempt yet. */
  attemptedAt: string | null;
}

type Sign = (event: Record<string, unknown>, at: Date) => Record<string, unknown>;

/** The request that an attempt makes (attempt.ts), without what only the receiver may know. */
export function sentRequest(row: SentRow, sign: Sign): SentRequest {
  const { eventId, eventType, event, format, names, attemptedAt } = row;
  const signed = sign(event, new Date(String(event['timestamp'])));
  const seconds = attemptedAt === null ? null : Math.floor(Date.parse(attemptedAt) / 1000);
  return {
    headers: {
      ...Object.fromEntries(names.map((name) => [name, '***'])),
      'content-type': 'application/json',
      'user-agent': 'Penstock-Webhooks/1.0',
      'x-service-event-id': eventId,
      'x-service-event-type': eventType,
      ...(seconds === null ? {} : { 'x-service-timestamp': String(seconds) }),
      'x-service-signature': '***',
    },
    body: format === 'slack' ? { text: slackText(signed) } : signed,
  };
}
