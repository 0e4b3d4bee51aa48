import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readEvents } from '../support/client.js';
import { danglingReferences, openapiFaults, referencesOf } from '../support/published-schema.js';
import { startNativeUpstream, type NativeUpstream } from '../support/native-upstream.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { at, type V1 } from './v1.js';

interface Answer {
  content: Record<string, { schema: { $ref: string } }>;
}
interface Operation {
  requestBody?: { content: Record<string, { example: object; schema: object }> };
  responses: Record<string, Answer & { $ref: string }>;
}

let server: TestServer;
let upstream: NativeUpstream;
let v1: V1;
let headers: Record<string, string>;
let document: {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object>; responses: Record<string, Answer> };
};
const ajv = new Ajv2020({ strict: false, validateFormats: false });

beforeAll(async () => {
  upstream = await startNativeUpstream();
  upstream.on('/moderations', { body: { id: 'm', model: 'm', results: [{ flagged: false }] } });
  const moderator = { id: 'maker', kind: 'openai', baseUrl: upstream.origin, apiKey: 'k', models: [] };
  server = await startPenstock({ providers: { providers: [moderator] } });
  v1 = at(server, '/v1');
  const { key } = await server.createOrg({ plan: 'business_monthly' });
  headers = { authorization: `Bearer ${key}` };
  document = (await (await fetch(`${server.origin}/v1/openapi.json`)).json()) as typeof document;
  ajv.addSchema({ ...document, $id: 'v1' });
});
afterAll(async () => {
  await server?.close();
  await upstream?.close();
});

const operations = () =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method, path, operation })),
  );
const faultsOf = (reference: string, value: unknown): string =>
  ajv.validate({ $ref: `v1${reference}` }, value) ? '' : ajv.errorsText();

describe('the description of /v1', () => {
  it('is public, sound, and without a part that nothing refers to', () => {
    expect(openapiFaults(document)).toEqual([]);
    expect(danglingReferences(document)).toEqual([]);
    const used = new Set(referencesOf(document));
    const schemas = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
    expect(schemas.filter((name) => !used.has(name))).toEqual([]);
  });

  it('tells the truth of answers, whole and streamed', async () => {
    const filled = async (path: string) => {
      if (!path.startsWith('/responses/')) return path.replace(/\{\w+\}/, 'sandbox/chat-basic');
      const made = await v1('POST', '/responses', { headers, body: { input: 'Hello' } });
      return path.replace(/\{\w+\}/, (made.body as { id: string }).id);
    };
    for (const { method, path, operation } of operations()) {
      const { content } = operation.responses['200'] as Answer;
      const example = operation.requestBody?.content['application/json']?.example;
      const asked = { headers, ...(example ? { body: example } : {}) };
      const answer = await v1(method.toUpperCase() as 'GET', await filled(path), asked);
      expect([path, answer.status]).toEqual([path, 200]);
      const type = answer.headers['content-type']?.split(';')[0] ?? '';
      expect([path, Object.keys(content)]).toEqual([path, expect.arrayContaining([type])]);
      if (type === 'application/json')
        expect([path, faultsOf(content[type]!.schema.$ref, answer.body)]).toEqual([path, '']);
      if (content['text/event-stream'] === undefined) continue;
      const chunk = referencesOf(content['text/event-stream']).find((name) => name.endsWith('Chunk')) ?? '';
      const stream = await server.raw(`/v1${path}`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ ...example, stream: true, stream_format: 'sse' }),
      });
      for await (const { data } of readEvents(stream.body as AsyncIterable<Buffer>))
        if (data !== '[DONE]') expect([data, faultsOf(chunk, JSON.parse(data))]).toEqual([data, '']);
    }
  });

  it('tells the truth of refusals', async () => {
    const refusals = [
      await v1('GET', '/models'),
      await v1('POST', '/chat/completions', { headers, body: {} }),
      await v1('GET', '/models/no/such', { headers }),
    ];
    expect(refusals.map(({ status }) => status)).toEqual([401, 400, 404]);
    for (const { body } of refusals) expect(faultsOf('#/components/schemas/Error', body)).toBe('');
  });
});
