import { execute, parse } from 'graphql';
import type { GraphQLFieldResolver } from 'graphql';
import { describe, expect, it } from 'vitest';
import { compile } from '../../rest-compat/compile.js';
import { routes } from '../../rest-compat/routes/index.js';
import { buildPenstockSchema } from '../../schema/index.js';
import { subscriptionResolvers } from '../../src/boot/subscription-resolvers.js';

const job = {
  id: 'job_1',
  orgId: 'org_1',
  userId: 'usr_1',
  tool: 'image',
  status: 'completed',
  progress: 100,
  inputParams: { prompt: 'x', 'a b': [1, null, { $file: 'file_1.png' }] },
  outputData: { images: [{ url: { $file: 'file_1.png' }, width: 1, height: 2 }] },
  estimatedCredits: 1,
  actualCredits: null,
  errorMessage: null,
  createdAt: new Date(0),
  startedAt: null,
  completedAt: new Date(1000),
  model: 'a/b',
  modelTier: 'basic',
};
const bucket = { bucket: 'credits', remaining: 1.5, limit: 2, used: 0.5, usagePercent: 25 };
const model = {
  id: 'a/b/c',
  created: 1,
  ownedBy: 'a',
  name: 'b/c',
  provider: 'a',
  type: 'chat',
  tier: 'basic',
  multiplier: 150,
  pricing: { unit: '1k_tokens', bucket: 'credits', amount: 1, credits: 1 },
  contextWindow: null,
  maxOutputTokens: 5,
  modalities: { input: ['text'], output: [] },
  default: true,
  available: false,
};
const services = {
  jobs: {
    get: async () => job,
    wait: async () => job,
    cancel: async () => job,
    list: async () => ({ nodes: [job, { ...job, id: 'job_0', outputData: null }], nextCursor: 'job_0' }),
  },
  files: { sign: (_orgId: string, value: unknown) => JSON.parse(JSON.stringify(value)) as unknown },
  metering: {
    quota: async () => ({
      orgId: 'org_1',
      plan: {
        code: 'free',
        name: 'Free',
        kind: 'free',
        entitled: true,
        periodEnd: '2026-01-01T00:00:00.000Z',
      },
      quotas: [bucket],
    }),
  },
  models: { list: () => [model], find: (id: string) => (id === 'a/b/c' ? model : null) },
  generation: {
    generate: async () => ({
      job,
      created: 1,
      model: 'a/b',
      modelTier: 'basic',
      data: [{ url: 'u', revised_prompt: 'p', width: 1, height: 1 }],
      usage: {
        credits_used: 1,
        credits_breakdown: { base: 1 },
        generations_used: 1,
        generations_remaining: 2,
      },
    }),
  },
  embeddings: {
    create: async () => ({
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
      model: 'a/e',
      model_tier: 'basic',
      usage: { prompt_tokens: 1, total_tokens: 1, credits_used: 1 },
    }),
  },
};
const scopes = new Set(['chat', 'image', 'usage']);
const call = {
  principal: { orgId: 'org_1', scopes },
  keyWindowOpen: false,
  signal: new AbortController().signal,
};
const context = { call, services };
const values: Record<string, unknown> = {
  jobId: 'job_1',
  id: 'a/b/c',
  limit: 2,
  pending: false,
  poll: false,
};
const inputs: Record<string, unknown> = {
  createEmbeddings: { input: 'x' },
  generateImage: { prompt: 'x' },
};

describe('a stored document', () => {
  const schema = buildPenstockSchema({ resolvers: subscriptionResolvers });
  const executed = routes.filter(
    (route) => route.raw === undefined && !route.document.includes('subscription'),
  );

  it.each(executed.map((route) => [route.operationId, route] as const))(
    '%s answers what graphql-js answers',
    async (operationId, route) => {
      const compiled = compile(schema, route.document);
      const bound = { ...values, ...(operationId in inputs ? { input: inputs[operationId] } : {}) };
      const expected = await execute({
        schema,
        document: parse(route.document),
        contextValue: context,
        variableValues: bound,
      });
      expect(expected.errors).toBeUndefined();
      const answer = JSON.stringify(await compiled.run(bound, context));
      expect(answer).toBe(JSON.stringify(expected.data?.['body']));
    },
  );

  it('shows an event of a subscription as graphql-js does', async () => {
    const route = routes.find(({ operationId }) => operationId === 'streamJob')!;
    const compiled = compile(schema, route.document);
    const event = { sequence: 3, type: 'job.completed', job };
    const document = parse(route.document);
    const expected = await execute({
      schema,
      document,
      rootValue: event,
      contextValue: context,
      variableValues: values,
    });
    expect(await compiled.show(event, values, context)).toEqual(expected.data?.['body']);
  });

  it('fails as a whole where a value that must be there is null', async () => {
    const compiled = compile(schema, `query { body: quota { org_id: orgId } }`);
    const broken = {
      ...context,
      services: { ...services, metering: { quota: async () => ({ orgId: null }) } },
    };
    await expect(compiled.run({}, broken)).rejects.toThrow('orgId is null');
  });

  it('waits for fields that come later and keeps their place', async () => {
    const compiled = compile(schema, `query { body: quota { a: orgId plan { code } b: orgId } }`);
    const field = schema.getQueryType()!.getFields()['quota']!;
    const own = field.resolve;
    const late: GraphQLFieldResolver<unknown, unknown> = async () => ({ orgId: 'o', plan: { code: 'free' } });
    field.resolve = late;
    expect(JSON.stringify(await compiled.run({}, context))).toBe('{"a":"o","plan":{"code":"free"},"b":"o"}');
    field.resolve = own!;
  });

  it('stops the boot when it no longer fits the schema', () => {
    expect(() => compile(schema, `query { body: quota { gone } }`)).toThrow('gone');
    expect(() => compile(schema, `query { quota { orgId } }`)).toThrow('aliased body');
  });
});
