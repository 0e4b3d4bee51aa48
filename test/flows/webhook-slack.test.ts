import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { slackText } from '../../src/webhooks/slack.js';
import { WEBHOOK_EVENT_TYPES } from '../../src/webhooks/index.js';
import { startReceiver, trustReceivers } from '../support/receiver.js';
import type { Receiver } from '../support/receiver.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

trustReceivers();

let server: TestServer;
let receiver: Receiver;
let key: string;

beforeAll(async () => {
  server = await startPenstock({ env: { EGRESS_ALLOW: '127.0.0.0/8' } });
  receiver = await startReceiver();
  ({ key } = await server.createOrg());
});
afterAll(async () => {
  await receiver.close();
  await server.close();
});

interface Hook {
  id: string;
  secret: string;
  format: string;
}

test('a webhook of format slack gets a sentence of each event, with the headers and the signature of all others', async () => {
  const { data } = await server.graphql<{ createWebhook: Hook }>(
    `mutation ($url: String!) { createWebhook(input: {
      name: "channel", url: $url, events: ["generation.completed"], format: slack }) { id secret format } }`,
    { key, variables: { url: `${receiver.url}/services/T0/B0/x` } },
  );
  const { id, secret, format } = data!.createWebhook;
  expect(format).toBe('slack');
  const image = { prompt: 'a weir', size: '512x512' };
  const made = await server.rest('POST', '/images/generations', { key, body: image });
  const [request] = await eventually(() => receiver.requests.length > 0 && receiver.requests, {
    what: 'the delivery',
  });
  const { text, ...rest } = JSON.parse(request!.body) as { text: string };
  expect(rest).toEqual({});
  expect(text).toMatch(
    new RegExp(`^Job ${made.headers['x-job-id']} \\(image, .+\\) completed in [\\d.]+ s\\.$`),
  );
  const timestamp = String(request!.headers['x-service-timestamp']);
  expect(request!.headers).toMatchObject({
    'content-type': 'application/json',
    'x-service-event-type': 'generation.completed',
    'x-service-event-id': expect.stringMatching(/^evt_/),
    'x-service-signature': createHmac('sha256', secret).update(`${timestamp}:${request!.body}`).digest('hex'),
  });
  await server.rest('POST', `/webhooks/${id}/test`, { key });
  expect(JSON.parse(receiver.requests.at(-1)!.body)).toEqual({
    text: 'Penstock sends a test of this webhook.',
  });
});

test('a delivery shows the request that was sent, without its secrets, and the webhook how its deliveries ended', async () => {
  const { key: own } = await server.createOrg();
  const { key: stranger } = await server.createOrg();
  const before = receiver.requests.length;
  const { body } = await server.rest<{ webhook: Hook }>('POST', '/webhooks', {
    key: own,
    body: {
      name: 'shown',
      url: `${receiver.url}/shown`,
      events: ['generation.completed'],
      custom_headers: { 'x-own': 'a secret of the receiver' },
    },
  });
  await server.rest('POST', '/images/generations', { key: own, body: { prompt: 'a weir', size: '512x512' } });
  const shown = `{ webhooks { nodes { recent { succeeded failed pending } } }
    webhookDeliveries(webhookId: "${body.webhook.id}") { nodes { request { headers body } } } }`;
  interface Shown {
    webhooks: { nodes: { recent: { succeeded: number } }[] };
    webhookDeliveries: { nodes: { request: { headers: Record<string, string>; body: object } }[] };
  }
  const { webhooks, webhookDeliveries } = await eventually(
    async () => {
      const { data } = await server.graphql<Shown>(shown, { key: own });
      return data!.webhooks.nodes[0]!.recent.succeeded > 0 && data!;
    },
    { what: 'the delivery' },
  );
  expect(webhooks.nodes).toEqual([{ recent: { succeeded: 1, failed: 0, pending: 0 } }]);
  const sent = receiver.requests.slice(before).find(({ headers }) => headers['x-own'] !== undefined)!;
  const { headers, body: event } = webhookDeliveries.nodes[0]!.request;
  expect(event).toEqual(JSON.parse(sent.body));
  expect(headers).toEqual({
    ...Object.fromEntries(Object.keys(headers).map((name) => [name, sent.headers[name]])),
    'x-own': '***',
    'x-service-signature': '***',
  });
  expect(Object.keys(headers)).toContain('x-service-timestamp');
  expect((await server.graphql(shown, { key: stranger })).data).toMatchObject({ webhookDeliveries: null });
});

test('the format can be changed, and REST answers as the contract says, with it or without', async () => {
  const body = { name: 'plain', url: `${receiver.url}/plain`, events: ['credits.low'] };
  const plain = await server.rest<{ webhook: Hook }>('POST', '/webhooks', { key, body });
  const slack = await server.rest<{ webhook: Hook }>('POST', '/webhooks', {
    key,
    body: { ...body, format: 'slack' },
  });
  expect(slack.status).toBe(200);
  expect(Object.keys(slack.body.webhook)).toEqual(Object.keys(plain.body.webhook));
  expect(slack.body.webhook).not.toHaveProperty('format');
  const formatOf = async (id: string) =>
    (
      await server.graphql<{ webhook: Hook }>('query ($id: ID!) { webhook(id: $id) { format } }', {
        key,
        variables: { id },
      })
    ).data!.webhook.format;
  expect(await formatOf(plain.body.webhook.id)).toBe('json');
  expect(await formatOf(slack.body.webhook.id)).toBe('slack');
  const change = `mutation ($id: ID!) { updateWebhook(id: $id, input: { format: json }) { format } }`;
  await server.graphql(change, { key, variables: { id: slack.body.webhook.id } });
  expect(await formatOf(slack.body.webhook.id)).toBe('json');
  const odd = await server.rest('POST', '/webhooks', { key, body: { ...body, format: 'teams' } });
  expect(odd).toMatchObject({
    status: 400,
    body: { error: 'format must be one of json, slack', param: 'format' },
  });
});

test('there is a sentence for every type of event', () => {
  const budget = {
    name: 'Team',
    scope: 'tag',
    subject: 'red',
    percent: 80,
    spent: '4',
    limit: '5',
    unit: 'usd',
  };
  for (const type of [...WEBHOOK_EVENT_TYPES, 'budget.threshold'] as const)
    expect(slackText({ type, data: {} }), type).not.toBe(`Event ${type}.`);
  expect(slackText({ type: 'budget.threshold', data: budget })).toBe(
    'Budget Team reached 80 % for tag red: 4 of 5 USD are spent.',
  );
  const low = { bucketType: 'image_generations', remaining: 7, limit: 80, percentUsed: 91.25 };
  expect(slackText({ type: 'credits.low', data: low })).toBe(
    '91.25 % of image generations are used: 7 of 80 remain.',
  );
});

test('what callers wrote cannot be a link or a mention in a channel, nor fill it', () => {
  const text = slackText({
    type: 'agent.run.failed',
    data: {
      runId: 'run_1',
      agentName: '<!channel> & <https://evil.example|you>',
      errorMessage: 'x'.repeat(5000),
    },
  });
  expect(text).toContain('agent &lt;!channel&gt; &amp; &lt;https://evil.example|you&gt; failed');
  expect(text.length).toBeLessThan(500);
});
