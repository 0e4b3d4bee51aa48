import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { danglingReferences, openapiFaults, referencesOf } from '../support/published-schema.js';
import { startPenstock, type TestServer } from '../support/server.js';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  required?: boolean;
}

interface Operation {
  operationId?: string;
  summary?: string;
  parameters?: Parameter[];
  responses: Record<string, unknown>;
  security?: Record<string, string[]>[];
}

interface Document {
  paths: Record<string, Record<string, unknown>>;
  components: Record<string, Record<string, unknown>>;
  security?: Record<string, string[]>[];
}

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

  describe('keeps the rules that linters recommend', () => {
    let document: Document;
    let operations: (Operation & { at: string; method: string })[];
    beforeAll(async () => {
      document = (await (await fetch(`${server.baseUrl}/openapi.json`)).json()) as Document;
      operations = Object.entries(document.paths).flatMap(([at, item]) =>
        METHODS.filter((method) => method in item).map((method) => ({
          ...(item[method] as Operation),
          at,
          method,
        })),
      );
      expect(operations.length).toBeGreaterThan(30);
    });

    it('it fits the published schema of OpenAPI 3.1, and the check would tell if it did not', () => {
      expect(openapiFaults(document)).toEqual([]);
      expect(openapiFaults({ ...document, paths: { models: { get: { responses: [] } } } })).not.toEqual([]);
      expect(openapiFaults({ ...document, info: {} })).not.toEqual([]);
    });

    it('every reference leads somewhere, and every component is referred to', () => {
      expect(danglingReferences(document)).toEqual([]);
      const used = new Set(referencesOf(document));
      const components = Object.entries(document.components)
        .filter(([kind]) => kind !== 'securitySchemes')
        .flatMap(([kind, all]) => Object.keys(all).map((name) => `#/components/${kind}/${name}`));
      expect(components.filter((pointer) => !used.has(pointer))).toEqual([]);
    });

    it('an operation has a summary, an id of its own, an answer for success and one for the caller’s fault', () => {
      const ids = operations.map(({ operationId }) => operationId);
      expect(new Set(ids).size).toBe(ids.length);
      for (const { at, method, summary, operationId, responses } of operations) {
        const statuses = Object.keys(responses);
        expect({ at, method, summary, operationId }).toEqual({
          at,
          method,
          summary: expect.stringMatching(/\S/),
          operationId: expect.stringMatching(/^[A-Za-z][\w.-]*$/),
        });
        expect(statuses.some((status) => status.startsWith('2'))).toBe(true);
        expect(at === '/openapi.json' || statuses.some((status) => status.startsWith('4'))).toBe(true);
      }
    });

    it('each parameter of a path is declared, required and used; no parameter is declared twice', () => {
      for (const { at, method, parameters = [] } of operations) {
        const all = [...parameters, ...((document.paths[at]?.['parameters'] ?? []) as Parameter[])].map(
          (one) =>
            one.$ref === undefined
              ? one
              : document.components['parameters']?.[one.$ref.split('/').at(-1) ?? ''],
        ) as Parameter[];
        const inPath = all.filter((one) => one.in === 'path');
        expect({ at, method, names: inPath.map(({ name }) => name).sort() }).toEqual({
          at,
          method,
          names: [...at.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort(),
        });
        expect(inPath.every(({ required }) => required === true)).toBe(true);
        const keys = all.map((one) => `${one.in} ${one.name}`);
        expect(new Set(keys).size).toBe(keys.length);
      }
    });

    it('no two paths mean the same, none ends in a slash or has a query, and every operation says who may call it', () => {
      const shapes = Object.keys(document.paths).map((at) => at.replace(/\{\w+\}/g, '{}'));
      expect(new Set(shapes).size).toBe(shapes.length);
      expect(Object.keys(document.paths).filter((at) => /\/$|\?/.test(at))).toEqual([]);
      const schemes = Object.keys(document.components['securitySchemes'] ?? {});
      for (const { security = document.security ?? [] } of operations)
        for (const need of security)
          for (const scheme of Object.keys(need)) expect(schemes).toContain(scheme);
      const open = operations.filter(({ security = document.security ?? [] }) => security.length === 0);
      expect(open.map(({ at }) => at)).toEqual(['/openapi.json'].filter((at) => at in document.paths));
    });
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
      'alloy, echo, fable, onyx, nova (default) or shimmer; any name if `reference_audio` is given.',
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
