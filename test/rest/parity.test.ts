import { parse } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contractFace, conventionsFace, describeApi } from '../../rest-compat/index.js';
import { buildPenstockSchema } from '../../schema/index.js';
import { subscriptionResolvers } from '../../src/boot/subscription-resolvers.js';
import { startPenstock, type TestServer } from '../support/server.js';

const FACES = [contractFace, conventionsFace];

const schema = buildPenstockSchema({ resolvers: subscriptionResolvers });

/** `query jobs`, `mutation createChatCompletion` … that a row stands for. */
function operationOf({ document, operation: written }: (typeof FACES)[number]['routes'][number]): string {
  if (document === undefined) return `mutation ${written}`;
  const [operation] = parse(document).definitions;
  if (operation?.kind !== 'OperationDefinition') throw new Error('an operation');
  const [field] = operation.selectionSet.selections;
  return `${operation.operation} ${field?.kind === 'Field' ? field.name.value : ''}`;
}

/** GraphQL operations that REST has no endpoint for, and why. */
const GRAPHQL_ONLY = new Set([
  'query penstockOrganization',
  'query penstockStorage',
  'query penstockVersion',
  'query estimate',
  'query responses',
  'mutation startResponse',
  'mutation cancelResponseByKey',
  'query agentMemories',
  'query agentTools',
  'mutation deleteAgentMemory',
  'query apiKeys',
  'mutation createApiKey',
  'mutation revokeApiKey',
  'mutation rotateApiKey',
  'mutation updateApiKey',
  'query auditLog',
  'query budgetSubjects',
  'query operatedOrganizations',
  'query operatedOrganization',
  'query operatedApiKeys',
  'query operatedProviders',
  'query operatedQueues',
  'query operatedDeadLetters',
  'query operatedUsage',
  'mutation changeOperatedPlan',
  'mutation topUpOperatedQuota',
  'mutation revokeOperatedApiKey',
  'mutation replayOperatedDeadLetters',
  'mutation createBudget',
  'mutation createUpload',
  'mutation updateBudget',
  'mutation deleteBudget',
  'query penstockMembers',
  'mutation addPenstockMember',
  'mutation changePenstockMemberRole',
  'mutation removePenstockMember',
  'mutation createPenstockSignInLink',
  'mutation changePenstockPassword',
  'mutation cancelPenstockPlan',
  'query _entities',
  'query _service',
  'query node',
  'subscription agentRunUpdates',
  'subscription jobUpdates',
  'subscription quotaUpdates',
  'subscription usageUpdates',
]);

describe('REST, its description and GraphQL', () => {
  it.each(FACES)(
    'cover each other at $path: every row is described with its operation, and nothing else is',
    (face) => {
      const described = describeApi(schema, face)['paths'] as Record<
        string,
        Record<string, { 'x-graphql': string }>
      >;
      const rows = face.routes.map((route) => [
        `${route.method} ${route.path.replace('+}', '}')}`,
        operationOf(route),
      ]);
      const entries = Object.entries(described).flatMap(([path, item]) =>
        Object.entries(item).map(([method, operation]) => [
          `${method.toUpperCase()} ${path}`,
          operation['x-graphql'],
        ]),
      );
      expect(entries.sort()).toEqual(rows.sort());
    },
  );

  it('have the same operations: what only GraphQL has is listed', () => {
    const operationsOf = ({ routes }: (typeof FACES)[number]) =>
      routes.flatMap((route) => [
        operationOf(route),
        ...(route.streamOperation ? [`subscription ${route.streamOperation}`] : []),
      ]);
    const roots = [
      ['query', schema.getQueryType()],
      ['mutation', schema.getMutationType()],
      ['subscription', schema.getSubscriptionType()],
    ] as const;
    const ofSchema = roots.flatMap(([kind, type]) =>
      Object.keys(type!.getFields()).map((name) => `${kind} ${name}`),
    );
    const ofTables = FACES.flatMap(operationsOf);
    expect(ofSchema.filter((name) => !ofTables.includes(name)).sort()).toEqual([...GRAPHQL_ONLY].sort());
    // At /v1 several dialects are one operation.
    const ofContract = operationsOf(contractFace);
    expect(new Set(ofContract).size).toBe(ofContract.length);
  });
});

describe('the same call by REST and by GraphQL', () => {
  let server: TestServer;
  let org: Awaited<ReturnType<TestServer['createOrg']>>;
  beforeAll(async () => {
    server = await startPenstock({ plans: { endpointLimits: { image: { limit: 100, windowSeconds: 60 } } } });
    org = await server.createOrg({ plan: 'business_monthly' });
  });
  afterAll(() => server?.close());

  interface Ledger {
    operation: string;
    state: string;
    model: string | null;
    amounts: { bucket: string; amount: number }[];
  }

  async function ledger(): Promise<Ledger[]> {
    const text = `{ usageRecords(first: 100) { nodes { operation state model: modelId amounts { bucket amount } } } }`;
    const { data } = await server.graphql<{ usageRecords: { nodes: Ledger[] } }>(text, { key: org.key });
    return data!.usageRecords.nodes;
  }

  /** An upstream's further fields pass through REST unread (decisions 6, "Upstreams"). */
  function withoutExtras(message: object | undefined) {
    const { role, content } = message as { role: string; content: string };
    return { role, content };
  }

  /** What a call added to the ledger. */
  async function rowsOf(work: () => Promise<unknown>): Promise<Ledger[]> {
    const before = (await ledger()).length;
    await work();
    const after = await ledger();
    return after.slice(0, after.length - before);
  }

  it('makes the same image, charges the same', async () => {
    const input = { prompt: 'a red square', seed: 7, size: '512x512', n: 1 };
    let rest:
      | { data: { width: number; height: number }[]; usage: Record<string, number>; model: string }
      | undefined;
    let graphql:
      | { generateImage: { data: object[]; usage: Record<string, number>; model: string } }
      | null
      | undefined;
    const byRest = await rowsOf(async () => {
      const answer = await server.rest<NonNullable<typeof rest>>('POST', '/images/generations', {
        key: org.key,
        body: input,
      });
      expect(answer.status).toBe(200);
      expect(answer.headers['x-job-id']).toMatch(/^job_/);
      rest = answer.body;
    });
    const byGraphql = await rowsOf(async () => {
      const answer = await server.graphql<NonNullable<typeof graphql>>(
        `mutation ($input: GenerateImageInput!) { generateImage(input: $input) {
          data { width height revisedPrompt } model modelTier usage { creditsUsed generationsUsed generationsRemaining }
        } }`,
        { key: org.key, variables: { input } },
      );
      expect(answer.errors).toEqual([]);
      graphql = answer.data;
    });
    expect(byGraphql).toEqual(byRest);
    expect(byRest).toHaveLength(1);
    expect(graphql?.generateImage.model).toBe(rest?.model);
    expect(graphql?.generateImage.data).toMatchObject([{ width: 512, height: 512 }]);
    expect(rest?.data).toMatchObject([{ width: 512, height: 512 }]);
    expect(graphql?.generateImage.usage['generationsRemaining']).toBe(
      rest!.usage['generations_remaining']! - 1,
    );
  });

  it('answers the same chat, charges the same', async () => {
    const messages = [{ role: 'user', content: 'Say hello. @sandbox{"tokens":12}' }];
    let rest: { choices: { message: object }[]; usage: Record<string, number> } | undefined;
    let graphql:
      | { createChatCompletion: { choices: { message: object }[]; usage: Record<string, number> } }
      | null
      | undefined;
    const byRest = await rowsOf(async () => {
      rest = (
        await server.rest<NonNullable<typeof rest>>('POST', '/chat/completions', {
          key: org.key,
          body: { messages, max_tokens: 50 },
        })
      ).body;
    });
    const byGraphql = await rowsOf(async () => {
      graphql = (
        await server.graphql<NonNullable<typeof graphql>>(
          `mutation ($input: ChatCompletionInput!) { createChatCompletion(input: $input) {
            choices { message { role content } finishReason } usage { promptTokens completionTokens creditsUsed }
          } }`,
          { key: org.key, variables: { input: { messages, maxTokens: 50 } } },
        )
      ).data;
    });
    expect(byRest).toHaveLength(1);
    expect(byGraphql).toEqual(byRest);
    expect(graphql?.createChatCompletion.choices[0]?.message).toEqual(
      withoutExtras(rest?.choices[0]?.message),
    );
    expect(graphql?.createChatCompletion.usage).toEqual({
      promptTokens: rest?.usage['prompt_tokens'],
      completionTokens: rest?.usage['completion_tokens'],
      creditsUsed: rest?.usage['credits_used'],
    });
  });

  it('embeds the same, charges the same', async () => {
    let rest: { data: { embedding: number[] }[] } | undefined;
    let graphql: { createEmbeddings: { data: { embedding: number[] }[] } } | null | undefined;
    const byRest = await rowsOf(async () => {
      rest = (
        await server.rest<NonNullable<typeof rest>>('POST', '/embeddings', {
          key: org.key,
          body: { input: 'abc' },
        })
      ).body;
    });
    const byGraphql = await rowsOf(async () => {
      graphql = (
        await server.graphql<NonNullable<typeof graphql>>(
          `mutation { createEmbeddings(input: { input: "abc" }) { data { embedding } } }`,
          { key: org.key },
        )
      ).data;
    });
    expect(byGraphql).toEqual(byRest);
    expect(graphql?.createEmbeddings.data).toEqual(rest?.data.map(({ embedding }) => ({ embedding })));
  });

  const refusals: [string, Record<string, unknown>, Record<string, unknown>][] = [
    ['an unknown model', { prompt: 'x', model: 'no/such' }, { prompt: 'x', model: 'no/such' }],
    ['n of 11', { prompt: 'x', n: 11 }, { prompt: 'x', n: 11 }],
    ['a size of none', { prompt: 'x', size: '1x1' }, { prompt: 'x', size: '1x1' }],
    ['an empty prompt', { prompt: '' }, { prompt: '' }],
  ];

  it.each(refusals)('refuses %s with the same message, code and param', async (_what, body, input) => {
    const rest = await server.rest('POST', '/images/generations', { key: org.key, body });
    const { errors } = await server.graphql(
      `mutation ($input: GenerateImageInput!) { generateImage(input: $input) { created } }`,
      { key: org.key, variables: { input } },
    );
    expect(rest.status).toBe(400);
    expect(errors[0]).toMatchObject({
      message: rest.body['error'],
      extensions: { code: rest.body['code'], httpStatus: rest.status, param: rest.body['param'] },
    });
  });

  /** The same refusal by both faces, in the shape of REST's body with its status. */
  async function refusalsOf(
    as: string,
    rest: { method: string; path: string; body?: unknown },
    graphql: { text: string; variables?: Record<string, unknown> },
  ) {
    const byRest = await server.rest(rest.method, rest.path, {
      key: as,
      ...(rest.body ? { body: rest.body } : {}),
    });
    const { errors } = await server.graphql(graphql.text, {
      key: as,
      ...(graphql.variables ? { variables: graphql.variables } : {}),
    });
    const { httpStatus, ...extensions } = errors[0]!.extensions;
    return [
      { status: byRest.status, ...byRest.body },
      { status: httpStatus, error: errors[0]!.message, ...extensions },
    ];
  }

  const IMAGE = 'mutation ($input: GenerateImageInput!) { generateImage(input: $input) { created } }';
  const CHAT = 'mutation ($input: ChatCompletionInput!) { createChatCompletion(input: $input) { id } }';

  it('takes the convention’s extras the same, and names what a search cited', async () => {
    const messages = [{ role: 'user', content: 'hi' }];
    const extras = {
      reasoning_effort: 'low',
      verbosity: 'low',
      prompt_cache_key: 'k',
      safety_identifier: 's',
      metadata: { a: 'b' },
      service_tier: 'flex',
      top_k: 5,
    };
    const given = {
      ...{ reasoningEffort: 'low', verbosity: 'low', promptCacheKey: 'k', safetyIdentifier: 's' },
      ...{ metadata: { a: 'b' }, serviceTier: 'flex', topK: 5 },
    };
    const byGraphql = await server.graphql<{ createChatCompletion: { citations: string[] | null } }>(
      `mutation ($input: ChatCompletionInput!) { createChatCompletion(input: $input) { citations } }`,
      { key: org.key, variables: { input: { messages, maxTokens: 3, ...given } } },
    );
    expect(byGraphql).toMatchObject({ data: { createChatCompletion: { citations: null } } });
    const byRest = await server.rest('POST', '/chat/completions', {
      key: org.key,
      body: { messages, max_tokens: 3, ...extras, store: 1, audio: 'x' },
    });
    expect(byRest.status).toBe(200);
    for (const [name, field] of [
      ['logit_bias', 'logitBias'],
      ['prediction', 'prediction'],
      ['functions', 'functions'],
      ['function_call', 'functionCall'],
    ] as const) {
      const [rest, graphql] = await refusalsOf(
        org.key,
        { method: 'POST', path: '/chat/completions', body: { messages, [name]: 'x' } },
        { text: CHAT, variables: { input: { messages, [field]: 'x' } } },
      );
      expect(rest).toMatchObject({ status: 400, param: name });
      expect(graphql).toEqual({ ...rest, param: field });
    }
  });

  it('refuses an exhausted bucket the same', async () => {
    const poor = await server.createOrg({ plan: 'pro_monthly' });
    await server.cli('quota', 'set', '--org', poor.orgId, '--bucket', 'credits', '--used', '200');
    const messages = [{ role: 'user', content: 'hi' }];
    const chat = await refusalsOf(
      poor.key,
      { method: 'POST', path: '/chat/completions', body: { messages } },
      { text: CHAT, variables: { input: { messages } } },
    );
    expect(chat[0]).toMatchObject({
      status: 402,
      error: 'Quota exceeded for chat_tokens',
      code: 'quota_exceeded',
    });
    expect(chat[1]).toEqual(chat[0]);
    const image = await refusalsOf(
      poor.key,
      { method: 'POST', path: '/images/generations', body: { prompt: 'x' } },
      { text: IMAGE, variables: { input: { prompt: 'x' } } },
    );
    expect(image[0]).toMatchObject({ status: 402, error: 'Quota exceeded for credits', remaining: 0 });
    expect(image[1]).toEqual(image[0]);
  });

  it('refuses a tier, a scope, an unknown job and a finished one the same', async () => {
    const free = await server.createOrg({ plan: 'free' });
    const chatOnly = await server.createKey(org.orgId, { scopes: ['chat'] });
    const made = await server.rest<{ id: string }>('POST', '/images/generations?async=true', {
      key: org.key,
      body: { prompt: 'x', size: '512x512' },
    });
    await server.rest('GET', `/jobs/${made.body.id}?poll=true`, { key: org.key });
    const cancel = (id: string) =>
      [
        { method: 'DELETE', path: `/jobs/${id}` },
        { text: `mutation { cancelJob(id: "${id}") { success } }` },
      ] as const;
    const image = [
      { method: 'POST', path: '/images/generations', body: { prompt: 'x' } },
      { text: IMAGE, variables: { input: { prompt: 'x' } } },
    ] as const;
    const all = [
      [403, 'Model tier not allowed', await refusalsOf(free.key, ...image)],
      [403, 'API key does not have required scope: image', await refusalsOf(chatOnly.key, ...image)],
      [404, 'Job not found', await refusalsOf(org.key, ...cancel('job_unknown'))],
      [404, 'Job not found', await refusalsOf(free.key, ...cancel(made.body.id))],
      [400, 'Cannot cancel completed job', await refusalsOf(org.key, ...cancel(made.body.id))],
    ] as const;
    for (const [status, error, [rest, graphql]] of all) {
      expect(rest).toMatchObject({ status, error });
      expect(graphql).toEqual(rest);
    }
  });

  it('reads the same job, list and quota', async () => {
    const made = await server.rest<{ id: string }>('POST', '/images/generations?async=true', {
      key: org.key,
      body: { prompt: 'x', size: '512x512' },
    });
    const { id } = made.body;
    const rest = await server.rest('GET', `/jobs/${id}?poll=true`, { key: org.key });
    const fields = `id orgId userId tool status progress inputParams outputData estimatedCredits actualCredits errorMessage
      createdAt startedAt completedAt model: modelId modelTier`;
    const graphql = await server.graphql<{ job: object; jobs: { nodes: object[] } }>(
      `{ job(id: "${id}") { ${fields} } jobs(first: 1) { nodes { ${fields} } } }`,
      { key: org.key },
    );
    expect(graphql.data?.job).toEqual(rest.body);
    const list = await server.rest<{ jobs: object[]; next_cursor: string }>('GET', '/jobs?limit=1', {
      key: org.key,
    });
    expect(list.body.jobs).toEqual(graphql.data?.jobs.nodes);
    expect(list.body.next_cursor).toBeTruthy();
    const quota = await server.rest<{ quotas: Record<string, { used: number; usage_percent: number }> }>(
      'GET',
      '/quota',
      {
        key: org.key,
      },
    );
    const same = await server.graphql<{ quota: { quotas: { bucket: string; used: number }[] } }>(
      `{ quota { quotas { bucket used } } }`,
      { key: org.key },
    );
    expect(Object.keys(quota.body.quotas)).toHaveLength(9);
    for (const { bucket, used } of same.data!.quota.quotas)
      expect(quota.body.quotas[bucket]?.used).toBe(used);
  });
});
