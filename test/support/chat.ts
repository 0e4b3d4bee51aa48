import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import {
  createAuthenticator,
  createKeyService,
  createOrganizationService,
  createPlanCatalogue,
} from '../../src/access/index.js';
import { ApiError } from '../../src/contract/errors.js';
import { createEgress } from '../../src/egress/index.js';
import { createInputFetcher, openFiles } from '../../src/files/index.js';
import type { FileService } from '../../src/files/index.js';
import { createChatService, createEmbeddingService } from '../../src/generation/index.js';
import type { ChatService, EmbeddingService } from '../../src/generation/index.js';
import { createMetering } from '../../src/metering/index.js';
import type { CallContext, Metering } from '../../src/metering/index.js';
import { createUsage } from '../../src/usage/index.js';
import type { UsageRecord } from '../../src/usage/index.js';
import { createModelCatalogue } from '../../src/models/index.js';
import { createImaging } from '../../src/imaging/index.js';
import { createProviderRegistry } from '../../src/providers/index.js';
import { createSandbox } from '../../src/sandbox/index.js';
import { createTokenizer } from '../../src/text/tokenizer.js';
import type { Tokenizer } from '../../src/text/tokenizer.js';
import { createSearch } from '../../src/search/index.js';
import type { PlanCode } from '../../src/contract/words.js';
import { createTestDatabase } from './database.js';
import type { TestDatabase } from './database.js';
import { startFakeUpstream } from './fake-upstream.js';
import type { FakeUpstream } from './fake-upstream.js';

/** The key for the fake upstreams. It must not appear in any output. */
export const UPSTREAM_KEY = 'sk-acme-0123456789abcdef';

export interface ChatOrg {
  orgId: string;
  call(more?: Partial<CallContext>): Promise<CallContext>;
  /** The organisation's ledger, oldest first. */
  ledger(): Promise<UsageRecord[]>;
}

export interface ChatEngine {
  test: TestDatabase;
  chat: ChatService;
  embeddings: EmbeddingService;
  metering: Metering;
  files: FileService;
  tokenizer: Tokenizer;
  createOrg(plan?: PlanCode): Promise<ChatOrg>;
  close(): Promise<void>;
}

/** Chat and embeddings over a real database, without an API. */
export async function createChatEngine(
  options: { providers?: object; plans?: object; searxngUrl?: string } = {},
): Promise<ChatEngine> {
  const logger = pino({ level: 'silent' });
  const test = await createTestDatabase();
  const { config, database } = test;
  const write = async (name: string, content: object | undefined) => {
    if (content === undefined) return null;
    const file = join(config.dataDir, name);
    await writeFile(file, JSON.stringify(content));
    return file;
  };
  const plans = await createPlanCatalogue(await write('plans.json', options.plans));
  const authenticator = createAuthenticator({ database, plans, logger });
  const metering = createMetering({
    database,
    plans,
    logger,
    processId: `prc_${randomUUID()}`,
    role: 'all',
    refresh: (principal) => authenticator.refresh(principal),
  });
  metering.start();
  const files = await openFiles({ config, database, signing: { current: 'secret', previous: null }, logger });
  const egress = createEgress({ config });
  const tokenizer = createTokenizer();
  await tokenizer.load();
  const file = await write('providers.json', options.providers);
  const sandbox = createSandbox({ tokenizer, imaging: createImaging({ config }) });
  const providers = await createProviderRegistry({ file, env: {}, sandbox, logger });
  const models = createModelCatalogue({ providers });
  const search = createSearch({
    search: { searxngUrl: options.searxngUrl ?? null, braveApiKey: null, tavilyApiKey: null },
  });
  const inputs = createInputFetcher({ egress, files: files.service });
  const shared = { models, providers, metering, tokenizer, logger };
  return {
    test,
    metering,
    files: files.service,
    tokenizer,
    chat: createChatService({
      ...shared,
      inputs,
      files: files.service,
      search,
      documents: { extract: () => Promise.reject(new Error('No file is given here')) },
    }),
    embeddings: createEmbeddingService(shared),
    async createOrg(planCode = 'business_monthly') {
      const org = await createOrganizationService({ database, plans }).create({
        name: randomUUID(),
        planCode,
      });
      const key = await createKeyService({ database }).create({
        orgId: org.id,
        name: 'test',
        scopes: ['chat'],
      });
      return {
        orgId: org.id,
        call: async (more = {}) => ({
          principal: await authenticator.authenticate(`Bearer ${key.key}`),
          requestId: randomUUID(),
          client: { serviceClient: null, clientName: null, userAgent: null },
          signal: new AbortController().signal,
          keyWindowOpen: true,
          rate: null,
          idempotencyKey: null,
          ...more,
        }),
        ledger: async () =>
          (await createUsage({ database }).records({ orgId: org.id, first: 100 })).nodes.toReversed(),
      };
    },
    async close() {
      await providers.close();
      await search.close();
      await egress.close();
      await metering.close();
      await authenticator.close();
      files.close();
      await test.close();
    },
  };
}

/** An answer in the contract's form. */
export interface ChatAnswerShape {
  id: string;
  object: string;
  created: number;
  model: string;
  model_tier: string;
  choices: {
    index: number;
    message: {
      role: string;
      content: string | null;
      tool_calls?: { id: string; function: { name: string; arguments: string } }[];
      function_call?: { name: string; arguments: string };
    };
    finish_reason: string;
    logprobs: { content: { token: string; top_logprobs: unknown[] }[] } | null;
  }[];
  usage: Record<string, number> & { credits_breakdown: { base: number } };
  citations?: string[];
}

/** A streamed chunk in the contract's form. */
export interface ChunkShape {
  id: string;
  object: string;
  created: number;
  model: string;
  model_tier?: string;
  choices: {
    index: number;
    delta: {
      role?: string;
      content?: string;
      reasoning_content?: string;
      tool_calls?: { id?: string; function: { name?: string; arguments: string } }[];
      function_call?: { name?: string; arguments: string };
    };
    finish_reason: string | null;
  }[];
  usage?: Record<string, number> | null;
}

/** A body with one user message. */
export const user = (content: unknown, more: object = {}): Record<string, unknown> => ({
  messages: [{ role: 'user', content }],
  ...more,
});

/** Rate windows that are so wide that no test reaches their limits. */
export const WIDE_WINDOWS = {
  plans: { business_monthly: { rate: { rpm: 10_000, burst: 10_000 } } },
  endpointLimits: { chat: { limit: 10_000, windowSeconds: 60 } },
};

/** A whole answer, parsed. */
export async function completeChat(
  engine: ChatEngine,
  org: ChatOrg,
  body: Record<string, unknown>,
): Promise<ChatAnswerShape> {
  const { text } = await engine.chat.complete(await org.call(), body);
  return JSON.parse(text) as ChatAnswerShape;
}

/** All chunks of a stream, and the error at its end. */
export async function streamChat(
  engine: ChatEngine,
  org: ChatOrg,
  body: Record<string, unknown>,
): Promise<{ chunks: ChunkShape[]; fault: unknown }> {
  const { chunks } = await engine.chat.stream(await org.call(), body);
  const read: ChunkShape[] = [];
  try {
    for await (const text of chunks) read.push(JSON.parse(text) as ChunkShape);
  } catch (fault) {
    return { chunks: read, fault };
  }
  return { chunks: read, fault: null };
}

/** The refusal of a call that must not succeed. */
export async function refuseChat(
  engine: ChatEngine,
  org: ChatOrg,
  body: Record<string, unknown>,
): Promise<ApiError> {
  const fault = await engine.chat.complete(await org.call(), body).then(
    () => new Error('it was answered'),
    (error: unknown) => error,
  );
  if (!(fault instanceof ApiError)) throw fault;
  return fault;
}

/** Two upstreams, `acme` and its fallback `spare`, each with a chat model with a fallback, a chat model without one, and an embedding model. */
export async function createUpstreamEngine(): Promise<{
  engine: ChatEngine;
  upstream: FakeUpstream;
  other: FakeUpstream;
  close(): Promise<void>;
}> {
  const upstream = await startFakeUpstream();
  const other = await startFakeUpstream();
  const provider = (id: string, baseUrl: string) => ({
    id,
    kind: 'openai-compatible',
    baseUrl,
    apiKey: UPSTREAM_KEY,
    retry: { retries: 2, backoffMs: 5 },
    timeouts: { firstByteMs: 400, chunkMs: 400 },
    allowedParameters: id === 'acme' ? ['top_k', 'service_tier'] : [],
    models: [
      {
        id: `${id}/chat-1`,
        upstreamId: 'chat-1',
        type: 'chat',
        tier: 'standard',
        multiplier: 2,
        contextWindow: 4000,
      },
      {
        id: `${id}/alone`,
        upstreamId: 'alone',
        type: 'chat',
        allowedParameters: ['documents'],
        tier: 'basic',
        outputCap: 'max_completion_tokens',
      },
      { id: `${id}/small`, upstreamId: 'small', type: 'chat', tier: 'basic', contextWindow: 40 },
      { id: `${id}/embed`, upstreamId: 'embed', type: 'embedding', tier: 'basic' },
    ],
  });
  const engine = await createChatEngine({
    providers: {
      providers: [provider('acme', upstream.baseUrl), provider('spare', other.baseUrl)],
      fallbacks: { 'acme/chat-1': ['spare/chat-1'], 'spare/alone': ['spare/small', 'acme/alone'] },
    },
    plans: WIDE_WINDOWS,
    searxngUrl: upstream.baseUrl.replace('/v1', ''),
  });
  const close = async (): Promise<void> => {
    await engine.close();
    await upstream.close();
    await other.close();
  };
  return { engine, upstream, other, close };
}

/** The states and tokens of an organisation's ledger, oldest first. */
export async function chargedTokens(org: ChatOrg): Promise<{ state: string; tokens: number }[]> {
  return (await org.ledger()).map((row) => ({
    state: row.state,
    tokens: (row.amounts.chat_tokens ?? 0) / 100,
  }));
}
