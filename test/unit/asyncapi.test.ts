import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { WEBHOOK_EVENT_TYPES } from '../../src/webhooks/index.js';
import { asyncapiFaults, danglingReferences } from '../support/published-schema.js';

interface Document {
  channels: Record<string, { messages: Record<string, { $ref: string }> }>;
  operations: Record<string, { channel: { $ref: string }; messages?: { $ref: string }[] }>;
  components: { messages: Record<string, { name: string }> };
}

const text = readFileSync(new URL('../../schema/asyncapi.yaml', import.meta.url), 'utf8');
const document = parse(text) as Document;

test('the AsyncAPI document fits the published schema, and every reference in it leads somewhere', () => {
  expect(asyncapiFaults(document)).toEqual([]);
  expect(danglingReferences(document)).toEqual([]);
});

test('the check finds faults: a message of the wrong type, a reference to nothing', () => {
  const broken = structuredClone(document) as unknown as { channels: Record<string, { messages: unknown }> };
  broken.channels['webhooks'] = { messages: { wrong: 7 } };
  expect(asyncapiFaults(broken)).not.toEqual([]);
  broken.channels['webhooks'] = { messages: { wrong: { $ref: '#/components/messages/absent' } } };
  expect(danglingReferences(broken)).toContain('#/components/messages/absent');
});

test('an operation names only messages of its own channel, and every message is used', () => {
  const used = new Set<string>();
  for (const { channel, messages = [] } of Object.values(document.operations))
    for (const { $ref } of messages) expect($ref.startsWith(`${channel.$ref}/messages/`)).toBe(true);
  for (const { messages } of Object.values(document.channels))
    for (const { $ref } of Object.values(messages)) used.add($ref);
  const all = Object.keys(document.components.messages).map((name) => `#/components/messages/${name}`);
  expect([...used].sort()).toEqual(all.sort());
});

test('every webhook event type is a message of the webhooks and of the events topic; tests are one of webhooks alone', () => {
  for (const [name, more] of [
    ['webhooks', ['webhook.test']],
    ['events', []],
  ] as const) {
    const references = Object.values(document.channels[name]?.messages ?? {});
    const types = references.map(({ $ref }) => document.components.messages[$ref.split('/').at(-1) ?? '']);
    expect(types.map((message) => message?.name).sort()).toEqual([...WEBHOOK_EVENT_TYPES, ...more].sort());
  }
});
