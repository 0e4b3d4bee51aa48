import { createHmac } from 'node:crypto';

export interface SignedEvent {
  /** The raw request body. */
  body: string;
  eventId: string;
  eventType: string;
  /** Unix seconds. */
  timestamp: number;
}

/**
 * Headers of a delivery (contract 6.1): the signature is the lower-case hex HMAC-SHA256 of `<timestamp>:<raw body>` under the whole secret
 * string. During a rotation's overlap `x-service-signature-next` is made with the new secret.
 */
export function signatureHeaders(
  event: SignedEvent,
  secret: string,
  nextSecret: string | null,
): Record<string, string> {
  const signed = `${event.timestamp}:${event.body}`;
  const headers: Record<string, string> = {
    'x-service-signature': sign(signed, secret),
    'x-service-timestamp': String(event.timestamp),
    'x-service-event-id': event.eventId,
    'x-service-event-type': event.eventType,
  };
  if (nextSecret !== null) headers['x-service-signature-next'] = sign(signed, nextSecret);
  return headers;
}

function sign(text: string, secret: string): string {
  if (secret === '') throw new Error('A webhook secret is empty');
  return createHmac('sha256', secret).update(text).digest('hex');
}
