import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeAgent, runAgent } from '../support/agents.js';
import { startPenstock, type TestServer } from '../support/server.js';

interface Operation {
  requestBody?: { content: Record<string, { example: object }> };
  responses: { '200': { content: Record<string, { schema: { $ref: string } }> } };
}

let server: TestServer;
let key: string;
let operations: { method: string; path: string; operation: Operation }[];
const ajv = new Ajv2020({ strict: false, validateFormats: false });

beforeAll(async () => {
  server = await startPenstock();
  ({ key } = await server.createOrg({ plan: 'business_monthly' }));
  const description = (await (await fetch(`${server.baseUrl}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, Operation>>;
  };
  ajv.addSchema({ ...description, $id: 'api' });
  operations = Object.entries(description.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method, path, operation })),
  );
});
afterAll(() => server?.close());

/** Asks, and holds the answer against the schema that the description has for it. */
async function answerAsDescribed(method: string, url: string, { responses }: Operation, body?: object) {
  const answer = await server.rest(method, url, { key, ...(body ? { body } : {}) });
  expect(answer, url).toMatchObject({ status: 200 });
  const { $ref } = responses['200'].content['application/json']!.schema;
  expect(ajv.validate({ $ref: `api${$ref}` }, answer.body), `${url} ${ajv.errorsText()}`).toBe(true);
  return answer.body;
}

it('the job that each kind of generation answers with is what the description says of it', async () => {
  const kinds = operations.filter(({ path }) => /^.(images|videos|music|audio)/.test(path));
  for (const { path, operation } of kinds) {
    const { example } = operation.requestBody!.content['application/json']!;
    const body = await answerAsDescribed('POST', `${path}?async=true`, operation, example);
    expect(Object.keys(body), path).toEqual(['id', 'status', 'created', 'model', 'estimated_credits']);
  }
  expect(kinds).toHaveLength(6);
});

it('everything that can be read is what the description says of it', async () => {
  const agent = await makeAgent(server, key, { tools: ['generate_text'] });
  const { runId } = await runAgent(server, key, agent, { input: 'Write a poem about a weir.' });
  const image = await server.rest('POST', '/images/generations', {
    key,
    body: { prompt: 'a red square', size: '512x512' },
  });
  const hook = { name: 'Hook', url: 'https://example.com/hook', events: ['credits.low'] };
  const made = await server.rest<{ webhook: { id: string } }>('POST', '/webhooks', { key, body: hook });
  const form = new FormData();
  form.append('file', new File(['The weir was built in 1890.'], 'weir.txt', { type: 'text/plain' }));
  const headers = { authorization: `Bearer ${key}` };
  const url = `${server.baseUrl}/agents/${agent}/knowledge`;
  const kept = (await (await fetch(url, { method: 'POST', headers, body: form })).json()) as {
    file: { id: string };
  };
  const ids: Record<string, string> = {
    jobId: image.headers['x-job-id']!,
    runId,
    fileId: kept.file.id,
    provider: 'sandbox',
    name: 'chat-basic',
  };
  const idIn = (path: string) => (path.startsWith('/agents') ? agent : made.body.webhook.id);
  const reads = operations.filter(
    ({ method, operation }) => method === 'get' && 'application/json' in operation.responses['200'].content,
  );
  for (const { path, operation } of reads) {
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? idIn(path));
    await answerAsDescribed('GET', filled, operation);
  }
  expect(reads.length).toBeGreaterThan(10);
});
