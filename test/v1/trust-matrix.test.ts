import { errors } from 'undici';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { contractFace, conventionsFace } from '../../rest-compat/index.js';
import { readEvents } from '../support/client.js';
import { chunk, startFakeUpstream, type FakeUpstream } from '../support/fake-upstream.js';
import type { TestOrg } from '../support/installation.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually, inParallel } from '../support/wait.js';
import { DIALECTS, type Ask, type Dialect } from './dialects.js';
import { hostileBodies } from './hostile-bodies.js';

/** The promises (trust 1) that belong to a call, each over every dialect at every address. The fault tests hold chat to them at full size. */

const FREELY = { limit: 100_000, windowSeconds: 60 };
const LIMIT = 1_000_000;
/** Calls that the units which are left in the race pay, and calls that want them. */
const LEFT = 3;
const CALLS = 24;
const RETRIES = 12;
const ABORTS = 6;
const CAP = 200;

let server: TestServer;
let upstream: FakeUpstream;
/** Keys that nobody may call with, and their organisation. */
let bad: { org: TestOrg } & Record<'revoked' | 'expired' | 'narrow', { id: string; key: string }>;

beforeAll(async () => {
  upstream = await startFakeUpstream();
  const models = [
    { id: 'acme/chat', type: 'chat', tier: 'basic', upstreamId: 'm', contextWindow: 8000 },
    { id: 'acme/vectors', type: 'embedding', tier: 'basic', upstreamId: 'e' },
  ];
  server = await startPenstock({
    env: { TRUST_PROXY: 'loopback' },
    providers: {
      providers: [
        {
          id: 'acme',
          kind: 'openai-compatible',
          baseUrl: upstream.baseUrl,
          apiKey: 'k',
          retry: { retries: 0 },
          models,
        },
      ],
    },
    plans: {
      endpointLimits: { chat: FREELY, image: FREELY, image_edit: FREELY, tts: FREELY, stt: FREELY },
      plans: {
        business_monthly: {
          limits: {
            credits: LIMIT,
            image_generations: LIMIT,
            image_edits: LIMIT,
            tts_chars: LIMIT,
            stt_seconds: LIMIT,
          },
          rate: { rpm: 100_000, burst: 100_000 },
          streams: { perMinute: 100_000, held: 10_000, heldByOrganization: 10_000 },
        },
      },
    },
  });
  const org = await server.createOrg();
  bad = {
    org,
    revoked: await server.createKey(org.orgId),
    expired: await server.createKey(org.orgId, { expires: new Date(Date.now() - 60_000) }),
    narrow: await server.createKey(org.orgId, { scopes: ['webhooks'] }),
  };
  await server.cli('key', 'revoke', '--id', bad.revoked.id);
});
afterAll(async () => {
  await server?.close();
  await upstream?.close();
});
beforeEach(() => {
  upstream.requests.length = 0;
});

/** Their prices are not multiplied: an amount is a number of tokens. */
const SANDBOX = {
  chat: 'sandbox/chat-basic',
  embedding: 'sandbox/embedding-basic',
  image: 'sandbox/image-basic',
  image_edit: 'sandbox/image-edit-fast',
  tts: 'sandbox/tts-fast',
  stt: 'sandbox/stt-fast',
  rerank: 'sandbox/rerank-basic',
};
const FAR = { chat: 'acme/chat', embedding: 'acme/vectors' };

interface Sent {
  key?: string;
  headers?: Record<string, string>;
  body: unknown;
}

/** A body that is no text or bytes goes as JSON. */
function send({ path, headers = {} }: Dialect, sent: Sent) {
  const isPlain = typeof sent.body === 'string' || Buffer.isBuffer(sent.body);
  return server.raw(path, {
    method: 'POST',
    headers: {
      ...(sent.key === undefined ? {} : { authorization: `Bearer ${sent.key}` }),
      'content-type': 'application/json',
      ...headers,
      ...sent.headers,
    },
    body: isPlain ? (sent.body as string | Buffer) : JSON.stringify(sent.body),
  });
}

interface Got {
  status: number;
  headers: Record<string, string>;
  text: string;
  body: unknown;
}

async function call(dialect: Dialect, sent: Sent): Promise<Got> {
  const response = await send(dialect, sent);
  const text = await response.body.text();
  const headers = Object.fromEntries(
    Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
  );
  let body: unknown = text;
  if (/json/.test(headers['content-type'] ?? '')) body = JSON.parse(text);
  return { status: response.statusCode, headers, text, body };
}

interface Row {
  state: string;
  requestId: string | null;
  amounts: { bucket: string; amount: number }[];
}

async function ledger({ key }: TestOrg): Promise<Row[]> {
  const query = `{ usageRecords(first: 100) { nodes { state requestId amounts { bucket amount } } } }`;
  const { data } = await server.graphql<{ usageRecords: { nodes: Row[] } }>(query, { key });
  return data!.usageRecords.nodes;
}

const amountOf = (row: Row | undefined, bucket: string): number =>
  row?.amounts.find((one) => one.bucket === bucket)?.amount ?? 0;

async function used({ key }: TestOrg, bucket: string): Promise<number> {
  const { body } = await server.rest<{ quotas: Record<string, { used: number }> }>('GET', '/quota', { key });
  return body.quotas[bucket]!.used;
}

const settled = (org: TestOrg, rows: number): Promise<Row[]> =>
  eventually(
    async () => {
      const found = await ledger(org);
      return found.length >= rows && found.every(({ state }) => state !== 'reserved') && found;
    },
    { what: 'the settlement of every call' },
  );

const rows = DIALECTS.map((dialect) => ({ path: dialect.path, dialect }));
const streaming = rows.flatMap(({ path, dialect }) =>
  dialect.stream === undefined ? [] : [{ path, dialect, stream: dialect.stream }],
);

it('has a row for every charged call at each address', () => {
  const isOf =
    /\/(?:completions|responses|messages|embeddings|images\/(?:generations|edits)|audio\/(?:speech|transcriptions)|rerank)$/;
  const paths = [contractFace, conventionsFace].flatMap((face) =>
    face.routes
      .filter(({ method, path }) => method === 'POST' && isOf.test(path))
      .map(({ path }) => face.path + path),
  );
  expect(DIALECTS.map(({ path }) => path).toSorted()).toEqual(paths.toSorted());
});

describe.each(rows)('POST $path', ({ dialect }) => {
  const small: Ask = { model: SANDBOX[dialect.type], text: 'hello @sandbox{"tokens":5}', cap: 5 };

  it('never costs more than is left, however many calls come at once', async () => {
    const org = await server.createOrg();
    const each = dialect.units?.(small) ?? 1;
    await server.services.metering.setUsed(org.orgId, dialect.bucket, (LIMIT - LEFT * each) * 100);
    const answers = await inParallel(Array.from({ length: CALLS }), CALLS, () =>
      call(dialect, { key: org.key, body: dialect.body(small) }),
    );
    const refused = answers.filter(({ status }) => status === 402);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(LEFT);
    expect(refused).toHaveLength(CALLS - LEFT);
    for (const { body } of refused)
      expect(dialect.error(body)?.message).toMatch(/^Quota exceeded for |limit exceeded$/);
    expect(await used(org, dialect.bucket)).toBe(LIMIT);
    const charged = (await settled(org, LEFT)).filter(({ requestId }) => requestId !== null);
    expect(charged.map((row) => amountOf(row, dialect.bucket))).toEqual(
      Array.from({ length: LEFT }, () => each),
    );
  });

  it('is charged once for all retries with one Idempotency-Key, which belongs to its organisation', async () => {
    const [org, other] = [await server.createOrg(), await server.createOrg()];
    const headers = { 'idempotency-key': 'one' };
    const slow = dialect.body({ ...small, text: 'hello @sandbox{"tokens":5,"delay_ms":150}' });
    const answers = await inParallel(Array.from({ length: RETRIES }), RETRIES, () =>
      call(dialect, { key: org.key, headers, body: slow }),
    );
    const given = answers.filter(({ status }) => status === 200);
    const inFlight = answers.filter(({ status }) => status === 409);
    expect(given.length).toBeGreaterThan(0);
    expect(given.length + inFlight.length).toBe(RETRIES);
    expect(inFlight.every((one) => Number(one.headers['retry-after']) >= 1)).toBe(true);
    const again = await call(dialect, { key: org.key, headers, body: slow });
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(new Set([...given, again].map(({ text }) => text)).size).toBe(1);
    const another = await call(dialect, { key: org.key, headers, body: dialect.body(small) });
    expect([another.status, dialect.error(another.body) !== null]).toEqual([422, true]);
    expect(await settled(org, 1)).toHaveLength(1);

    const theirs = await call(dialect, { key: other.key, headers, body: slow });
    expect([theirs.status, theirs.headers['idempotent-replayed']]).toEqual([200, undefined]);
    expect(await settled(other, 1)).toHaveLength(1);
  });

  it('refuses a key that is none, was revoked, has expired or lacks the scope, and charges nobody', async () => {
    const { org, revoked, expired, narrow } = bad;
    const hex = org.key.slice(3);
    const refusals: [Record<string, string>, number][] = [
      [{}, 401],
      [{ authorization: 'Bearer ' }, 401],
      [{ authorization: `Basic ${Buffer.from(org.key).toString('base64')}` }, 401],
      [{ authorization: `Bearer sk_${hex.slice(1)}` }, 401],
      [{ authorization: `Bearer sk_${hex}0` }, 401],
      [{ authorization: `Bearer sk_' OR ''='` }, 401],
      [{ authorization: `Bearer ${'a'.repeat(10_000)}` }, 401],
      [{ authorization: `Bearer ${revoked.key}` }, 401],
      [{ authorization: `Bearer ${expired.key}` }, 401],
      [{ authorization: `Bearer ${narrow.key}` }, 403],
    ];
    // Refused keys count against their address: each dialect's strangers have one of their own.
    const address = { 'x-forwarded-for': `10.0.0.${DIALECTS.indexOf(dialect) + 1}` };
    for (const [headers, status] of refusals) {
      const answer = await call(dialect, { headers: { ...headers, ...address }, body: dialect.body(small) });
      expect([headers, answer.status, dialect.error(answer.body) !== null]).toEqual([headers, status, true]);
    }
    expect(await ledger(org)).toEqual([]);
  });

  it('refuses hostile bodies in its own form, and reserves nothing', async () => {
    const org = await server.createOrg();
    const wrong: unknown[] = [];
    for (const [form, sent, statuses] of hostileBodies(dialect, small)) {
      const answer = await call(dialect, { key: org.key, ...sent });
      const message = dialect.error(answer.body)?.message;
      if (!statuses.includes(answer.status) || !message)
        wrong.push([form, answer.status, answer.text.slice(0, 200)]);
      expect([form, answer.text]).not.toEqual([form, expect.stringMatching(/\n +at |SELECT |node_modules/)]);
    }
    expect(wrong).toEqual([]);
    expect((await ledger(org)).filter(({ state }) => state !== 'released')).toEqual([]);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('takes no organisation, address or prototype from a body', async () => {
    const [org, other] = [await server.createOrg(), await server.createOrg()];
    const injected = {
      orgId: other.orgId,
      org_id: other.orgId,
      organization: other.orgId,
      run_count: 7,
      api_base: upstream.baseUrl,
      base_url: upstream.baseUrl,
    };
    const plain = JSON.stringify({ ...dialect.body(small), ...injected });
    const answer = await call(dialect, {
      key: org.key,
      headers: { 'x-org-id': other.orgId, 'openai-organization': other.orgId },
      body: `{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},${plain.slice(1)}`,
    });
    const status = dialect.refusesUnknown ? 400 : 200;
    expect([answer.status, answer.text.slice(0, 200)]).toEqual([status, expect.anything()]);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    const charged = dialect.refusesUnknown ? 0 : 1;
    expect(await settled(org, charged)).toHaveLength(charged);
    expect(await ledger(other)).toEqual([]);
    expect(upstream.connections()).toBe(connectionsSoFar);
  });

  let connectionsSoFar = 0;
  beforeEach(() => {
    connectionsSoFar = upstream.connections();
  });
});

const WORDS = 40;
/** An upstream that gives a word every while, and then no more. */
const slowWords = () => ({
  chunks: Array.from({ length: WORDS }, () => chunk({ content: 'word ' })),
  chunkMs: 50,
  then: 'hang' as const,
});

interface Delivered {
  requestId: string;
  /** Pieces with words. */
  pieces: number;
  words: string;
  /** The last event's data. */
  last: string;
  isWhole: boolean;
}

/** Reads a stream, and hangs up where `until` says so. */
async function read(
  { dialect, stream }: (typeof streaming)[number],
  sent: Sent,
  until: (pieces: number) => boolean | Promise<boolean> = () => false,
): Promise<Delivered> {
  const response = await send(dialect, sent);
  expect(response.statusCode).toBe(200);
  const requestId = String(response.headers['x-request-id']);
  const got: Delivered = { requestId, pieces: 0, words: '', last: '', isWhole: false };
  try {
    for await (const { data } of readEvents(response.body)) {
      got.last = data;
      got.isWhole ||= stream.isEnd(data);
      if (!data.startsWith('{')) continue;
      const words = stream.delta(JSON.parse(data) as Record<string, unknown>);
      if (words === '') continue;
      got.pieces += 1;
      got.words += words;
      if (await until(got.pieces)) break; // Leaving the loop destroys the connection.
    }
  } catch (error) {
    if (!(error instanceof errors.SocketError)) throw error;
  }
  return got;
}

describe.each(streaming)('a stream of POST $path', ({ path, dialect, stream }) => {
  const row = { path, dialect, stream };
  const ask = (model: string, text = 'tell me'): object =>
    dialect.body({ model, text, cap: CAP, stream: true });

  it('that is hung up on is charged its prompt and what was delivered', async () => {
    const org = await server.createOrg();
    const text = `@sandbox{"tokens":${CAP},"chunk_ms":10} tell me of rivers`;
    const short = dialect.body({ model: SANDBOX.chat, text: text.replace(`${CAP}`, '3'), cap: CAP });
    await call(dialect, { key: org.key, body: short });
    const [whole] = await settled(org, 1);
    const prompt = amountOf(whole, 'chat_tokens') - 3;
    const lengths = Array.from({ length: ABORTS }, (_, index) => 1 + index * 4);
    const aborted = await inParallel(lengths, ABORTS, (length) =>
      read(row, { key: org.key, body: ask(SANDBOX.chat, text) }, (pieces) => pieces >= length),
    );
    const found = await settled(org, ABORTS + 1);
    for (const { requestId, pieces } of aborted) {
      const charged = found.find((one) => one.requestId === requestId);
      expect(charged?.state).toBe('settled');
      expect(amountOf(charged, 'chat_tokens')).toBeGreaterThanOrEqual(prompt + pieces);
      expect(amountOf(charged, 'chat_tokens')).toBeLessThan(prompt + CAP);
    }
    const sum = found.reduce((all, one) => all + amountOf(one, 'credits'), 0);
    expect(await used(org, 'credits')).toBe(sum);
  });

  it('ends its upstream with its reader', async () => {
    const org = await server.createOrg();
    upstream.queue(slowWords());
    await read(row, { key: org.key, body: ask(FAR.chat) }, (pieces) => pieces >= 2);
    await upstream.requests[0]!.hungUp;
    const [charged] = await settled(org, 1);
    expect(charged?.state).toBe('settled');
  });

  it('breaks off when its key is revoked', async () => {
    const org = await server.createOrg();
    const own = await server.createKey(org.orgId);
    upstream.queue(slowWords());
    const got = await read(row, { key: own.key, body: ask(FAR.chat) }, async (pieces) => {
      if (pieces === 2) await server.cli('key', 'revoke', '--id', own.id);
      return false;
    });
    expect([got.pieces >= 2, got.pieces < WORDS, got.isWhole]).toEqual([true, true, false]);
    await upstream.requests[0]!.hungUp;
    expect((await settled(org, 1))[0]?.state).toBe('settled');
    const after = await call(dialect, { key: own.key, body: ask(FAR.chat) });
    expect([after.status, upstream.requests.length]).toEqual([401, 1]);
  });

  it('whose upstream breaks off says so in its own form, and is charged for what was delivered', async () => {
    const org = await server.createOrg();
    upstream.queue({ chunks: [chunk({ content: 'one ' }), chunk({ content: 'two ' })], then: 'reset' });
    const got = await read(row, { key: org.key, body: ask(FAR.chat) });
    expect([got.words, got.isWhole]).toEqual(['one two ', false]);
    expect(got.last).toMatch(/"error"/);
    const [charged] = await settled(org, 1);
    expect(amountOf(charged, 'chat_tokens')).toBeGreaterThanOrEqual(2);
  });

  it('is given again whole to its retry, and charged once', async () => {
    const org = await server.createOrg();
    const sent = {
      key: org.key,
      headers: { 'idempotency-key': 'stream' },
      body: ask(SANDBOX.chat, '@sandbox{"tokens":12,"chunk_ms":10} tell me of rivers'),
    };
    const cut = await read(row, sent, (pieces) => pieces >= 2);
    const [joined, another] = await Promise.all([read(row, sent), read(row, sent)]);
    const replayed = await read(row, sent);
    expect([joined, another, replayed].map(({ isWhole }) => isWhole)).toEqual([true, true, true]);
    expect(new Set([joined, another, replayed].map(({ words }) => words)).size).toBe(1);
    expect(joined.words.startsWith(cut.words)).toBe(true);
    expect(await settled(org, 1)).toHaveLength(1);
  });
});

describe('what an organisation made', () => {
  const byId = conventionsFace.routes.filter(
    ({ path }) => /\{\w*[iI]d\}/.test(path) && !path.startsWith('/models'),
  );
  /** An id that the organisation made, by what the path begins with; a new noun needs a line. */
  const MAKERS: Record<string, (org: TestOrg) => Promise<string>> = {
    responses: async ({ key }) => {
      const dialect = DIALECTS.find(({ path }) => path === '/v1/responses')!;
      const { body } = await call(dialect, {
        key,
        body: dialect.body({ model: SANDBOX.chat, text: 'mine', cap: 5 }),
      });
      return (body as { id: string }).id;
    },
  };
  const maker = (path: string) => {
    const noun = path.split('/')[1]!;
    const make = MAKERS[noun];
    if (make === undefined) throw new Error(`nothing makes a ${noun}: add it to MAKERS`);
    return make;
  };
  const unknownLike = (id: string): string => `${id.slice(0, -6)}zzzzzz`;

  it.each(byId)('is to others as if it were not there: $method /v1$path', async ({ method, path }) => {
    const [owner, stranger] = [await server.createOrg(), await server.createOrg()];
    const id = await maker(path)(owner);
    const ask = async (which: string, key: string) => {
      const response = await server.raw(`/v1${path.replace(/\{\w+\}/, which)}`, {
        method: method as 'GET',
        headers: { authorization: `Bearer ${key}` },
      });
      return { status: response.statusCode, text: (await response.body.text()).replaceAll(which, 'ID') };
    };
    const theirs = await ask(id, stranger.key);
    expect(theirs).toEqual(await ask(unknownLike(id), stranger.key));
    expect(theirs.status).toBe(404);
    expect((await ask(id, owner.key)).status).toBeLessThan(404);
  });

  const referring = rows.flatMap(({ path, dialect }) => (dialect.refers ? [{ path, dialect }] : []));
  it.each(referring)('cannot be referred to by others: POST $path', async ({ path, dialect }) => {
    const [owner, stranger] = [await server.createOrg(), await server.createOrg()];
    const id = await maker(path.replace('/v1', ''))(owner);
    const ask = { model: SANDBOX.chat, text: 'go on', cap: 5 };
    const refer = async (which: string, key: string) => {
      const { status, text } = await call(dialect, { key, body: dialect.refers!(ask, which) });
      return { status, text: text.replaceAll(which, 'ID') };
    };
    const theirs = await refer(id, stranger.key);
    expect(theirs).toEqual(await refer(unknownLike(id), stranger.key));
    expect(theirs.status).toBeGreaterThanOrEqual(400);
    expect(await ledger(stranger)).toEqual([]);
    expect((await refer(id, owner.key)).status).toBe(200);
  });
});
