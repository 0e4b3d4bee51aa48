import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
beforeAll(async () => {
  server = await startPenstock();
});
afterAll(() => server?.close());

describe('the OpenAPI description', () => {
  it('is served to everybody, with the address’s window', async () => {
    const response = await fetch(`${server.baseUrl}/openapi.json`);
    expect(response.status).toBe(200);
    expect(response.headers.get('x-ratelimit-limit')).toBe('60');
    expect(((await response.json()) as { openapi: string }).openapi).toBe('3.1.0');
  });

  it('names the public address with its path, and without one what is relative to its own', async () => {
    const serversOf = async ({ baseUrl }: TestServer) =>
      ((await (await fetch(`${baseUrl}/openapi.json`)).json()) as { servers: object[] }).servers;
    const env = { PUBLIC_URL: 'https://models.example.com/gate/' };
    const behind = await startPenstock({ installation: server.installation, env });
    try {
      expect(await serversOf(behind)).toEqual([{ url: 'https://models.example.com/gate/api/v1' }]);
      expect(await serversOf(server)).toEqual([{ url: '/api/v1' }]);
    } finally {
      await behind.close();
    }
  });

  it('breaks none of the recommended rules', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'openapi-'));
    const file = join(folder, 'openapi.json');
    await writeFile(file, Buffer.from(await (await fetch(`${server.baseUrl}/openapi.json`)).arrayBuffer()));
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['node_modules/@redocly/cli/bin/cli.js', 'lint', file, '--format=json'],
      { env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' } },
    );
    await rm(folder, { recursive: true });
    const { totals, problems } = JSON.parse(stdout) as { totals: object; problems: { ruleId: string }[] };
    expect(problems.map(({ ruleId }) => ruleId)).toEqual([]);
    expect(totals).toMatchObject({ errors: 0, warnings: 0 });
  });

  it('tells callers no names but those of REST', async () => {
    const document = await (await fetch(`${server.baseUrl}/openapi.json`)).text();
    const values = new Set<string>();
    const told: string[] = [];
    JSON.parse(document, (key, value: unknown) => {
      if (key === 'enum') for (const word of value as string[]) values.add(word);
      if ((key === 'description' || key === 'summary') && typeof value === 'string') told.push(value);
      return value;
    });
    expect(told.length).toBeGreaterThan(300);
    const foreign = told.flatMap((text) => text.match(/\b[a-z]+[A-Z]\w*|\w+\(\w+:/g) ?? []);
    expect(foreign.filter((word) => !values.has(word))).toEqual([]);
    expect(told).toContain('Id of a chat model; default: see `GET /models?type=chat`.');
    expect(told).toContain(
      'alloy, echo, fable, onyx, nova (default), shimmer, or any name with `reference_audio`.',
    );
  });

  it('lists the endpoints of the contract, each with its errors', async () => {
    const { paths } = (await (await fetch(`${server.baseUrl}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { responses: Record<string, unknown> }>>;
    };
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining([
        '/chat/completions',
        '/images/generations',
        '/embeddings',
        '/models',
        '/models/{provider}/{name}',
        '/jobs',
        '/jobs/{jobId}',
        '/jobs/{jobId}/stream',
        '/quota',
      ]),
    );
    for (const operation of Object.values(paths).flatMap((item) => Object.values(item)))
      expect(Object.keys(operation.responses)).toEqual(
        expect.arrayContaining(['200', '400', '401', '429', '500']),
      );
  });

  it('lists the refusals of a body wherever one is read, also where none is needed', async () => {
    const { key } = await server.createOrg();
    const { paths } = (await (await fetch(`${server.baseUrl}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { responses: Record<string, unknown> }>>;
    };
    const writes = Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).flatMap(([method, { responses }]) =>
        method === 'get' || method === 'delete' ? [] : [{ path, method: method.toUpperCase(), responses }],
      ),
    );
    for (const { path, method, responses } of writes) {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'text/plain' };
      const url = server.baseUrl + path.replaceAll(/\{\w+\}/g, 'any');
      const { status } = await fetch(url, { method, headers, body: 'a=b' });
      expect(status, path).toBe(415);
      expect(Object.keys(responses), path).toEqual(expect.arrayContaining(['413', '415']));
    }
    expect(writes.length).toBeGreaterThan(15);
  });

  it('tells the truth: its examples are taken, their answers are what it says', async () => {
    const { key } = await server.createOrg({ plan: 'business_monthly' });
    const text = await (await fetch(`${server.baseUrl}/openapi.json`)).text();
    const description = JSON.parse(text) as Description;
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema({ $id: 'api', components: description.components });
    // Videos and music take seconds.
    const examples = Object.entries(description.paths).filter(
      ([path, { post }]) => !path.includes('{') && !/^.(videos|music)/.test(path) && post,
    );
    for (const [path, { post }] of examples) {
      const { schema, example } = post!.requestBody.content['application/json'];
      expect(ajv.validate(schema, example), `${path} ${ajv.errorsText()}`).toBe(true);
      const answer = await server.rest('POST', path, { key, body: example });
      expect(answer, path).toMatchObject({ status: 200 });
      const promised = post!.responses['200'].content['application/json'].schema.$ref;
      expect(ajv.validate({ $ref: `api${promised}` }, answer.body), `${path} ${ajv.errorsText()}`).toBe(true);
    }
    expect(examples.length).toBeGreaterThan(6);
    const streamed = await fetch(`${server.baseUrl}/chat/completions?stream=true`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }], max_tokens: 3 }),
    });
    const chunks = (await streamed.text()).match(/(?<=^data: )\{.*/gm) ?? [];
    for (const chunk of chunks)
      expect(
        ajv.validate({ $ref: 'api#/components/schemas/ChatCompletionChunk' }, JSON.parse(chunk)),
        chunk,
      ).toBe(true);
    expect(chunks.length).toBe(5);
  });

  it('declares each tag that an operation has', async () => {
    const { tags, paths } = (await (await fetch(`${server.baseUrl}/openapi.json`)).json()) as {
      tags: { name: string }[];
      paths: Record<string, Record<string, { tags: string[] }>>;
    };
    const used = Object.values(paths).flatMap((item) =>
      Object.values(item).flatMap((operation) => operation.tags),
    );
    expect(new Set(tags.map(({ name }) => name))).toEqual(new Set(used));
  });

  it('gives each form of an answer a name, the job that was made the same one everywhere', async () => {
    const description = (await (await fetch(`${server.baseUrl}/openapi.json`)).json()) as Description;
    const several = Object.entries(description.components.schemas).flatMap(([name, { anyOf }]) =>
      anyOf ? [{ name, anyOf }] : [],
    );
    for (const { name, anyOf } of several)
      for (const form of anyOf) expect(Object.keys(form), name).toEqual(['$ref']);
    const job = { $ref: '#/components/schemas/JobCreated' };
    expect(several.filter(({ anyOf }) => anyOf.some(({ $ref }) => $ref === job.$ref))).toHaveLength(6);
    const { key } = await server.createOrg({ plan: 'business_monthly' });
    const body = { prompt: 'a red square', size: '512x512' };
    const made = await server.rest('POST', '/images/generations?async=true', { key, body });
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema({ $id: 'api', components: description.components });
    expect(ajv.validate({ $ref: `api${job.$ref}` }, made.body), ajv.errorsText()).toBe(true);
  });

  it('lists the header that names the job of a generation that failed or was cancelled', async () => {
    const { key } = await server.createOrg({ plan: 'business_monthly' });
    const generate = (prompt: string) =>
      server.rest('POST', '/images/generations', { key, body: { prompt, size: '512x512' } });
    const waiting = generate('@sandbox{"delay_ms":60000}');
    const pending = async () =>
      (await server.rest<{ jobs: { id: string }[] }>('GET', '/jobs?pending=true', { key })).body.jobs;
    await expect.poll(pending).toHaveLength(1);
    await server.rest('DELETE', `/jobs/${(await pending())[0]!.id}`, { key });
    const answers = [await waiting, await generate('@sandbox{"fail":"no"}')];
    expect(answers.map(({ status }) => status)).toEqual([409, 500]);
    const { paths, components } = (await (await fetch(`${server.baseUrl}/openapi.json`)).json()) as {
      paths: Record<string, { post: { responses: Record<string, { $ref: string }> } }>;
      components: { responses: Record<string, { headers: object }> };
    };
    const { responses } = paths['/images/generations']!.post;
    for (const { status, headers } of answers) {
      expect(headers['x-job-id']).toMatch(/^job_/);
      const { $ref } = responses[String(status)]!;
      expect(components.responses[$ref.split('/').pop()!]!.headers, $ref).toHaveProperty('X-Job-Id');
    }
    expect(components.responses['NotFound']!.headers).not.toHaveProperty('X-Job-Id');
  });

  it('knows what an operation needs, and what it has no use for', async () => {
    const description = (await (await fetch(`${server.baseUrl}/openapi.json`)).json()) as Description;
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const { schema } = description.paths['/images/edits']!.post!.requestBody.content['application/json'];
    const taken = ajv.compile(schema);
    const image = 'https://example.com/a.png';
    expect(taken({ image, operation: 'outpainting', direction: 'left', prompt: null })).toBe(true);
    expect(taken({ image, operation: 'outpainting' })).toBe(false);
    expect(taken({ image, operation: 'colorization', scale: 2 })).toBe(false);
    expect(taken({ image, operation: 'colorization', surprise: 1 })).toBe(false);
  });
});

interface Description {
  components: { schemas: Record<string, { anyOf?: { $ref: string }[] }> };
  paths: Record<
    string,
    {
      post?: {
        requestBody: { content: { 'application/json': { schema: object; example: object } } };
        responses: { '200': { content: { 'application/json': { schema: { $ref: string } } } } };
      };
    }
  >;
}
