import { readFileSync } from 'node:fs';
import { Parser } from '@asyncapi/parser';
import { beforeAll, expect, test } from 'vitest';
import { WEBHOOK_EVENT_TYPES } from '../../src/webhooks/index.js';

const text = readFileSync(new URL('../../schema/asyncapi.yaml', import.meta.url), 'utf8');
let parsed: Awaited<ReturnType<Parser['parse']>>;

beforeAll(async () => {
  parsed = await new Parser().parse(text);
});

test('the AsyncAPI document has neither faults nor warnings', () => {
  expect(parsed.diagnostics.filter(({ severity }) => severity <= 1)).toEqual([]);
});

test('every webhook event type is a message of the webhooks and of the events topic; tests are one of webhooks alone', () => {
  const channels = parsed.document!.channels();
  for (const [name, more] of [
    ['webhooks', ['webhook.test']],
    ['events', []],
  ] as const) {
    const types = channels.get(name)!.messages().all();
    expect(types.map((message) => message.name()).sort()).toEqual([...WEBHOOK_EVENT_TYPES, ...more].sort());
  }
});
