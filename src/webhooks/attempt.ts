import { EgressError } from '../egress/index.js';
import type { Egress } from '../egress/index.js';
import type { FileService } from '../files/files.types.js';
import type { SecretBox } from './secret-box.js';
import { currentTraceparent } from '../telemetry/index.js';
import { signatureHeaders } from './signature.js';
import { slackText } from './slack.js';
import type { ClaimedDelivery, DeliveryAttempt } from './webhook.types.js';

/** Time-out for the status line and headers (decisions 6 "Webhooks"). */
const HEADERS_TIMEOUT_MS = 10_000;
const BODY_TIMEOUT_MS = 10_000;
const REQUEST = {
  method: 'POST',
  httpsOnly: true,
  maxBytes: 65_536,
  onLimit: 'cut',
  headersTimeoutMs: HEADERS_TIMEOUT_MS,
  bodyTimeoutMs: BODY_TIMEOUT_MS,
  totalTimeoutMs: HEADERS_TIMEOUT_MS + BODY_TIMEOUT_MS + 5000,
} as const;

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

/** After the overlap's end the new secret is the only one, even if the row has not been updated yet. */
function secretsOf(delivery: ClaimedDelivery, secrets: SecretBox): [secret: string, next: string | null] {
  const { secret, nextSecret, rotating } = delivery;
  if (nextSecret === null) return [secrets.open(secret), null];
  return rotating ? [secrets.open(secret), secrets.open(nextSecret)] : [secrets.open(nextSecret), null];
}

/**
 * Any 2xx acknowledges; the answer's body is read for at most 64 KB and 10 s and never changes the outcome.
 * @throws Error only where this process cannot open the webhook's secret: that is not the receiver's fault
 */
export async function attemptDelivery(
  delivery: ClaimedDelivery,
  { egress, files, secrets }: AttemptDependencies,
): Promise<AttemptResult> {
  const started = { at: Date.now(), from: performance.now() };
  const [secret, next] = secretsOf(delivery, secrets);
  try {
    const occurredAt = new Date(String(delivery.event['timestamp']));
    const event = files.sign(delivery.orgId, delivery.event, occurredAt);
    const body = JSON.stringify(delivery.format === 'slack' ? { text: slackText(event) } : event);
    const signed = {
      body,
      eventId: String(event['id']),
      eventType: String(event['type']),
      timestamp: Math.floor(started.at / 1000),
    };
    const traceparent = currentTraceparent();
    const headers: Record<string, string> = {
      ...delivery.customHeaders,
      'content-type': 'application/json',
      'user-agent': 'Penstock-Webhooks/1.0',
    };
    if (traceparent !== null) headers['traceparent'] = traceparent;
    Object.assign(headers, signatureHeaders(signed, secret, next));
    const answer = await egress.request(delivery.url, { ...REQUEST, body, headers });
    const { status } = answer;
    const ok = status >= 200 && status < 300;
    const error = ok ? null : `HTTP ${status}`;
    return resultOf(started, ok, { statusCode: status, error, responseBody: storable(answer.body) });
  } catch (error) {
    const reason = error instanceof EgressError ? error.message : 'The request could not be made';
    return resultOf(started, false, { statusCode: null, error: reason, responseBody: null });
  }
}

function resultOf(
  started: { at: number; from: number },
  ok: boolean,
  { statusCode, error, responseBody }: Pick<DeliveryAttempt, 'statusCode' | 'error' | 'responseBody'>,
): AttemptResult {
  const startedAt = new Date(started.at).toISOString();
  const durationMs = Math.round(performance.now() - started.from);
  return {
    ok,
    endedAt: performance.now(),
    attempt: { startedAt, durationMs, statusCode, error, responseBody },
  };
}

/** Removes what PostgreSQL's jsonb cannot store: NUL and lone surrogates. */
function storable(body: Buffer): string {
  if (body.length === 0) return '';
  return body.toString('utf8').replaceAll('\0', '\ufffd').toWellFormed();
}
