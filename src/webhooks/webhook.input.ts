import type { Egress } from '../egress/index.js';
import { isLonger } from '../text/characters.js';
import { invalid } from '../contract/errors.js';
import { readIsoTime } from '../text/iso-time.js';
import { WEBHOOK_EVENT_TYPES, WEBHOOK_FORMATS } from './webhook.types.js';
import type { WebhookFormat } from './webhook.types.js';

/** The fields of a registration that its owner may set. */
export interface WebhookInput {
  name: string;
  url: string;
  events: string[];
  enabled: boolean;
  format: WebhookFormat;
  customHeaders: Record<string, string>;
}

const FIELDS = ['name', 'url', 'events', 'enabled', 'format', 'custom_headers'];
const MAX_NAME = 100;
const MAX_URL = 2048;
const MAX_HEADERS = 20;
const MAX_HEADER_VALUE = 1024;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
// Visible ASCII, with blanks in between. No CR, LF or NUL, which could begin another header.
const HEADER_VALUE = /^(?:[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?$/;
const KNOWN_EVENTS: ReadonlySet<string> = new Set(WEBHOOK_EVENT_TYPES);
/** Set by the sender or by the connection; a registration must not change them. */
const RESERVED_HEADERS = new Set([
  'host',
  'content-type',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'te',
  'trailer',
  'expect',
  'proxy-authorization',
  'proxy-connection',
  'user-agent',
  'traceparent',
  'tracestate',
]);

export function refuseUnknown(body: Record<string, unknown>, known: readonly string[]): void {
  for (const name of Object.keys(body))
    if (!known.includes(name) && body[name] !== null) throw invalid(`Unknown parameter: ${name}`, name);
}

function checkName(value: unknown): string {
  if (value === undefined || value === null || value === '') throw invalid('name is required', 'name');
  if (typeof value !== 'string') throw invalid('name must be a string', 'name');
  if (value.trim() === '') throw invalid('name is required', 'name');
  if (isLonger(value, MAX_NAME)) throw invalid(`name must be at most ${MAX_NAME} characters`, 'name');
  return value;
}

function checkUrl(value: unknown, egress: Egress): string {
  if (value === undefined || value === null || value === '') throw invalid('url is required', 'url');
  if (typeof value !== 'string' || value.length > MAX_URL) throw invalid('Invalid URL', 'url');
  egress.checkUrl(value, { httpsOnly: true, field: 'url' });
  return value;
}

function checkEvents(value: unknown): string[] {
  if (value === undefined || value === null) throw invalid('events is required', 'events');
  if (!Array.isArray(value) || value.length === 0)
    throw invalid('events must be a list of event types', 'events');
  for (const [index, type] of value.entries()) {
    if (typeof type !== 'string') throw invalid(`events[${index}] must be an event type`, 'events');
    if (!KNOWN_EVENTS.has(type)) throw invalid(`Unknown event type: ${type.slice(0, 100)}`, 'events');
  }
  return [...new Set(value as string[])];
}

function checkEnabled(value: unknown): boolean {
  if (typeof value !== 'boolean') throw invalid('enabled must be a boolean', 'enabled');
  return value;
}

function checkFormat(value: unknown): WebhookFormat {
  const format = WEBHOOK_FORMATS.find((known) => known === value);
  if (format === undefined) throw invalid(`format must be one of ${WEBHOOK_FORMATS.join(', ')}`, 'format');
  return format;
}

function checkHeaders(value: unknown): Record<string, string> {
  if (value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value))
    throw invalid('custom_headers must be an object', 'custom_headers');
  const entries = Object.entries(value as Record<string, unknown>);
  if (entries.length > MAX_HEADERS)
    throw invalid(`custom_headers must have at most ${MAX_HEADERS} entries`, 'custom_headers');
  const seen = new Set<string>();
  for (const [name, item] of entries) {
    const lower = name.toLowerCase();
    const fits =
      HEADER_NAME.test(name) &&
      !lower.startsWith('x-service-') &&
      !RESERVED_HEADERS.has(lower) &&
      !seen.has(lower) &&
      typeof item === 'string' &&
      item.length <= MAX_HEADER_VALUE &&
      HEADER_VALUE.test(item);
    if (!fits)
      throw invalid(
        `Invalid custom header: ${name.slice(0, 100).replace(/[^\x20-\x7e]/g, '?')}`,
        'custom_headers',
      );
    seen.add(lower);
  }
  return Object.fromEntries(entries) as Record<string, string>;
}

/** A whole registration. @throws ApiError invalid_request with `param` */
export function parseCreate(body: Record<string, unknown>, egress: Egress): WebhookInput {
  refuseUnknown(body, FIELDS);
  return {
    name: checkName(body['name']),
    url: checkUrl(body['url'], egress),
    events: checkEvents(body['events']),
    enabled: body['enabled'] == null ? true : checkEnabled(body['enabled']),
    format: body['format'] == null ? 'json' : checkFormat(body['format']),
    customHeaders: body['custom_headers'] == null ? {} : checkHeaders(body['custom_headers']),
  };
}

/** The fields that a PATCH names. @throws ApiError invalid_request with `param` */
export function parseUpdate(body: Record<string, unknown>, egress: Egress): Partial<WebhookInput> {
  refuseUnknown(body, FIELDS);
  const changes: Partial<WebhookInput> = {};
  if (body['name'] !== undefined) changes.name = checkName(body['name']);
  if (body['url'] !== undefined) changes.url = checkUrl(body['url'], egress);
  if (body['events'] !== undefined) changes.events = checkEvents(body['events']);
  if (body['enabled'] !== undefined) changes.enabled = checkEnabled(body['enabled']);
  if (body['format'] !== undefined) changes.format = checkFormat(body['format']);
  if (body['custom_headers'] !== undefined) changes.customHeaders = checkHeaders(body['custom_headers']);
  return changes;
}

/** Body of rotate-secret; seconds, default a day, 0 to a week. */
export function parseOverlap(body: Record<string, unknown>): number {
  refuseUnknown(body, ['overlap_seconds']);
  const value = body['overlap_seconds'] ?? 86_400;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > 604_800)
    throw invalid('overlap_seconds must be an integer between 0 and 604800', 'overlap_seconds');
  return value;
}

function checkTime(value: unknown, field: string): Date {
  const time = typeof value === 'string' ? readIsoTime(value) : null;
  if (time === null) throw invalid(`${field} must be an ISO 8601 time`, field);
  return time;
}

/** Body of recover. */
export function parseSpan(body: Record<string, unknown>): { since: Date; until: Date | null } {
  refuseUnknown(body, ['since', 'until']);
  if (body['since'] == null) throw invalid('since is required', 'since');
  const since = checkTime(body['since'], 'since');
  const until = body['until'] == null ? null : checkTime(body['until'], 'until');
  if (until !== null && until < since) throw invalid('until must not be before since', 'until');
  return { since, until };
}
