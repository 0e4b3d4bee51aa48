import { EgressError } from '../egress/index.js';
import type { Egress } from '../egress/index.js';
import type { FileService } from '../files/files.types.js';
import type { SecretBox } from './secret-box.js';
import { currentTraceparent } from '../telemetry/index.js';
import { signatureHeaders } from './signature.js';
import type { ClaimedDelivery, DeliveryAttempt } from './webhook.types.js';

/** Until the status line and headers (decisions.md 6 "Webhooks"). */
const HEADERS_TIMEOUT_MS = 10_000;
const BODY_TIMEOUT_MS = 10_000;
const MAX_BODY_BYTES = 65_536;

export interface AttemptResult {
  ok: boolean;
  /** By `performance.now()`. */
  endedAt: number;
  attempt: DeliveryAttempt;
}

export interface AttemptDependencies {
  egress: Egress;
  files: Pick<FileService, 'sign'>;
  secrets: SecretBox;
}

/** After an overlap's end the new secret is the secret, whether or not anybody wrote that down yet. */
function secretsOf(delivery: ClaimedDelivery, secrets: SecretBox): [secret: string, next: string | null] {
  const { secret, nextSecret, rotating } = delivery;
  if (nextSecret === null) return [secrets.open(secret), null];
  return rotating ? [secrets.open(secret), secrets.open(nextSecret)] : [secrets.open(nextSecret), null];
}

/**
 * Any 2xx acknowledges; the answer's body is read for at most 64 KB and 10 s and never changes the outcome.
 * @throws Error only where this process cannot open the webhook's secret: that is no fault of its receiver
 */
export async function attemptDelivery(
  delivery: ClaimedDelivery,
  { egress, files, secrets }: AttemptDependencies,
): Promise<AttemptResult> {
  const started = Date.now();
  const finish = (
    ok: boolean,
    rest: Pick<DeliveryAttempt, 'statusCode' | 'error' | 'responseBody'>,
  ): AttemptResult => ({
    ok,
    endedAt: performance.now(),
    attempt: { startedAt: new Date(started).toISOString(), durationMs: Date.now() - started, ...rest },
  });
  const [secret, next] = secretsOf(delivery, secrets);
  try {
    const event = files.sign(delivery.orgId, delivery.event);
    const body = JSON.stringify(event);
    const traceparent = currentTraceparent();
    const answer = await egress.request(delivery.url, {
      method: 'POST',
      httpsOnly: true,
      body,
      headers: {
        ...delivery.customHeaders,
        'content-type': 'application/json',
        'user-agent': 'Penstock-Webhooks/1.0',
        ...(traceparent === null ? {} : { traceparent }),
        ...signatureHeaders(
          {
            body,
            eventId: String(event['id']),
            eventType: String(event['type']),
            timestamp: Math.floor(started / 1000),
          },
          secret,
          next,
        ),
      },
      maxBytes: MAX_BODY_BYTES,
      onLimit: 'cut',
      headersTimeoutMs: HEADERS_TIMEOUT_MS,
      bodyTimeoutMs: BODY_TIMEOUT_MS,
      totalTimeoutMs: HEADERS_TIMEOUT_MS + BODY_TIMEOUT_MS + 5000,
    });
    const ok = answer.status >= 200 && answer.status < 300;
    return finish(ok, {
      statusCode: answer.status,
      error: ok ? null : `HTTP ${answer.status}`,
      responseBody: storable(answer.body),
    });
  } catch (error) {
    const reason = error instanceof EgressError ? error.message : 'The request could not be made';
    return finish(false, { statusCode: null, error: reason, responseBody: null });
  }
}

/** PostgreSQL's jsonb takes no NUL and no half surrogate pair. */
function storable(body: Buffer): string {
  return body.toString('utf8').replaceAll('\0', '\ufffd').toWellFormed();
}
