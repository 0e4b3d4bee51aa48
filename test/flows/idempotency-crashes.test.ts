import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Installation } from '../support/installation.js';
import { spawnPenstock, type SpawnedServer } from '../support/spawned.js';
import { useSurvivor } from '../support/survivor.js';
import { eventually } from '../support/wait.js';

let installation: Installation;
let other: SpawnedServer;
useSurvivor((surviving) => ({ installation, other } = surviving));

interface Listed {
  agents: { id: string }[];
}

test('what a document had done when its process was killed is not done again', async () => {
  const doomed = await spawnPenstock(installation, { role: 'api' });
  const { key } = await installation.createOrg();
  const options = { key, headers: { 'idempotency-key': 'half-way' } };
  const document = `mutation {
    agent: createAgent(input: { name: "Once", systemPrompt: "x" }) { id }
    chat: createChatCompletion(input: { messages: [{ role: user, content: "Hello" }] }) { id }
    image: generateImage(input: { prompt: "x @sandbox{\\"delay_ms\\":3000}", size: "512x512" }) { job { id } }
    again: createAgent(input: { name: "Later", systemPrompt: "x" }) { id } }`;
  try {
    const lost = doomed.graphql(document, options).catch(() => 'lost');
    const [job] = await eventually(async () => {
      const { body } = await other.rest<{ jobs: { id: string }[] }>('GET', '/jobs', { key });
      return body.jobs.length > 0 && body.jobs;
    });
    const before = await other.rest<Listed>('GET', '/agents', { key });
    await doomed.signal('SIGKILL');
    expect(await lost).toBe('lost');

    // 409 until the lease of the process is over; more often would use the key's window up.
    const ask = async () => {
      const answer = await other.graphql(document, options);
      return answer.status !== 409 && answer;
    };
    const retry = await eventually(ask, { everyMs: 500, timeoutMs: 60_000 });
    expect(retry.errors).toEqual([]);
    expect(retry.data).toMatchObject({
      agent: { id: before.body.agents[0]?.id },
      image: { job: { id: job?.id } },
    });
    const after = await other.rest<Listed>('GET', '/agents', { key });
    expect(after.body.agents).toHaveLength(2);
    const records = await other.graphql<{ usageRecords: { nodes: { operation: string; state: string }[] } }>(
      '{ usageRecords(first: 10) { nodes { operation state } } }',
      { key },
    );
    expect(records.data?.usageRecords.nodes.map(({ operation }) => operation).toSorted()).toEqual([
      'chat',
      'image',
    ]);
  } finally {
    await doomed.close();
  }
}, 120_000);

/** As a process leaves a key that is killed after its work and before the answer is kept. */
async function forgetAnswer(key: string): Promise<void> {
  const text = `UPDATE idempotency_keys SET state = 'in_flight', process_id = 'killed', status = NULL, headers = NULL, body = NULL
    WHERE key = $1 RETURNING id`;
  expect(await installation.sql(text, [key])).toHaveLength(1);
}

interface Made {
  agent?: { id: string };
  webhook?: { id: string; secret: string };
  file?: { id: string };
}

test.each(['agents', 'duplicates', 'webhooks', 'rotations', 'files'])(
  'of %s there is one, and its answer is the first one’s, where the process died between',
  async (what) => {
    const { key } = await installation.createOrg();
    const own = await other.rest<{ agent: { id: string } }>('POST', '/agents', {
      key,
      body: { name: 'Own', system_prompt: 'x' },
    });
    const at = `/agents/${own.body.agent.id}`;
    const form = new FormData();
    form.append('file', new Blob(['The weir was finished in 1911.']), 'weir.txt');
    const hook = { name: 'hook', url: 'https://example.com/', events: ['generation.completed'] };
    const { body: rotating } = await other.rest<{ webhook: { id: string } }>('POST', '/webhooks', {
      key,
      body: hook,
    });
    const [path, body] = {
      agents: ['/agents', { name: 'Once', system_prompt: 'x' }] as const,
      duplicates: [`${at}/duplicate`, {}] as const,
      webhooks: ['/webhooks', hook] as const,
      rotations: [`/webhooks/${rotating.webhook.id}/rotate-secret`, {}] as const,
      files: [`${at}/knowledge`, form] as const,
    }[what]!;
    const headers = { authorization: `Bearer ${key}`, 'idempotency-key': `one of ${what}` };
    const make = async () => {
      const isForm = body instanceof FormData;
      const answer = await fetch(`${other.origin}/api/v1${path}`, {
        method: 'POST',
        headers: isForm ? headers : { ...headers, 'content-type': 'application/json' },
        body: isForm ? body : JSON.stringify(body),
      });
      return { status: answer.status, body: (await answer.json()) as Made };
    };

    const first = await make();
    expect(first.status).toBe(200);
    await forgetAnswer(`one of ${what}`);
    const second = await make();

    expect(second.status).toBe(200);
    const shown = ({ agent, webhook, file }: Made) => [agent?.id, webhook?.id, webhook?.secret, file?.id];
    expect(shown(second.body)).toEqual(shown(first.body));
  },
);

/** Holds what keeps whole answers, so that a process can be killed just before it. @returns how many are held, and the end of it */
async function holdFinishes(): Promise<{ held(): Promise<number>; end(): Promise<unknown> }> {
  await installation.sql(`CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_sleep(120); RETURN NEW; END $$`);
  await installation.sql(`CREATE TRIGGER hold BEFORE UPDATE ON idempotency_keys FOR EACH ROW
    WHEN (NEW.state = 'done') EXECUTE FUNCTION hold()`);
  const asleep = `FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`;
  return {
    async held() {
      const [row] = await installation.sql<{ n: string }>(`SELECT count(*) AS n ${asleep}`);
      return Number(row?.n);
    },
    async end() {
      await installation.sql(`SELECT pg_terminate_backend(pid) ${asleep}`);
      await installation.sql('DROP TRIGGER hold ON idempotency_keys');
      return await installation.sql('DROP FUNCTION hold()');
    },
  };
}

const MESSAGES = [{ role: 'user', content: 'What is a penstock?' }];
const CALLED = {
  chat: ['/api/v1/chat/completions', { messages: MESSAGES }],
  stream: ['/api/v1/chat/completions', { messages: MESSAGES, stream: true }],
  'stream with its usage': [
    '/api/v1/chat/completions',
    { messages: MESSAGES, stream: true, stream_options: { include_usage: true } },
  ],
  embeddings: ['/api/v1/embeddings', { input: ['a weir', 'a sluice'] }],
  graphql: [
    '/graphql',
    {
      query: `mutation { createChatCompletion(input: { messages: [{ role: user, content: "Hello" }] }) {
        id choices { message { content } } usage { totalTokens creditsUsed } } }`,
    },
  ],
} as const;

test('an answer that was charged is given to its retry where the process died before it was kept', async () => {
  const doomed = await spawnPenstock(installation, { role: 'api' });
  const { key } = await installation.createOrg();
  const ask = async (server: SpawnedServer, name: keyof typeof CALLED) => {
    const [path, body] = CALLED[name];
    const answer = await fetch(server.origin + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'idempotency-key': name,
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
    });
    return { status: answer.status, text: await answer.text() };
  };
  const records = async () => {
    const query = '{ usageRecords(first: 20) { nodes { id operation state amounts { bucket amount } } } }';
    const answer = await other.graphql<{ usageRecords: { nodes: { state: string }[] } }>(query, { key });
    return answer.data?.usageRecords.nodes;
  };
  const names = Object.keys(CALLED) as (keyof typeof CALLED)[];
  const hold = await holdFinishes();
  try {
    const lost = names.map((name) => ask(doomed, name).catch(() => null));
    await eventually(async () => (await hold.held()) === names.length);
    const charged = await records();
    expect(charged?.map(({ state }) => state)).toEqual(names.map(() => 'settled'));
    await doomed.signal('SIGKILL');
    await Promise.all(lost);
  } finally {
    await hold.end();
    await doomed.close();
  }
  const before = await records();

  const answers = await Promise.all(
    names.map((name) =>
      eventually(
        async () => {
          const answer = await ask(other, name);
          return answer.status !== 409 && answer;
        },
        { everyMs: 1000, timeoutMs: 60_000 },
      ),
    ),
  );

  expect(answers.map(({ status }) => status)).toEqual(names.map(() => 200));
  expect(await records()).toEqual(before);
  const [chat, stream, withUsage, embeddings, graphql] = answers.map(({ text }) => text);
  expect(JSON.parse(chat!)).toMatchObject({
    object: 'chat.completion',
    usage: { credits_used: expect.any(Number), total_tokens: expect.any(Number) },
  });
  for (const text of [stream!, withUsage!]) {
    const events = text.split('\n\n').filter((event) => event !== '');
    expect(events.at(-1)).toBe('data: [DONE]');
    expect(JSON.parse(events.at(-2)!.slice(6))).toMatchObject({ usage: { credits_used: 1 } });
    const said = events.slice(0, -1).map((event) => JSON.parse(event.slice(6)) as SaidChunk);
    expect(said.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe(
      (JSON.parse(chat!) as Said).choices[0]!.message.content,
    );
  }
  expect(JSON.parse(embeddings!)).toMatchObject({
    data: [{ index: 0 }, { index: 1 }],
    usage: { credits_used: 1 },
  });
  expect(JSON.parse(graphql!)).toMatchObject({
    data: { createChatCompletion: { usage: { creditsUsed: 1 } } },
  });
  // Kept now: whoever asks once more is told the same, byte for byte.
  for (const [i, name] of names.entries()) expect((await ask(other, name)).text).toBe(answers[i]!.text);
}, 120_000);

interface SaidChunk {
  choices: { delta: { content?: string } }[];
}
interface Said {
  choices: { message: { content: string } }[];
}

test.each([false, true])(
  'a chat whose key another process took over meanwhile, for this one was away too long, is neither answered nor charged (streamed: %s)',
  async (stream) => {
    const { key } = await installation.createOrg();
    const name = `lost ${stream}`;
    const content = 'x @sandbox{"tokens":20,"chunk_ms":50,"delay_ms":500}';
    const ask = async () => {
      const answer = await fetch(`${other.origin}/api/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'idempotency-key': name,
        },
        body: JSON.stringify({ stream, messages: [{ role: 'user', content }] }),
      });
      return { status: answer.status, text: await answer.text() };
    };
    const asked = ask();
    // As a process takes over that found the lease of the first run out.
    const takeOver = `UPDATE idempotency_keys SET process_id = 'another' WHERE key = $1 AND state = 'in_flight' RETURNING id`;
    await eventually(async () => (await installation.sql(takeOver, [name])).length === 1);
    const lost = await asked;
    expect(lost.status).toBe(stream ? 200 : 409);
    expect(lost.text).toContain('A request with this Idempotency-Key is still in flight');
    expect(lost.text).not.toContain('[DONE]');

    const retry = await ask();
    expect(retry.status).toBe(200);
    const records = await other.graphql<{ usageRecords: { nodes: { state: string }[] } }>(
      '{ usageRecords(first: 10) { nodes { state } } }',
      { key },
    );
    const states = records.data?.usageRecords.nodes.map(({ state }) => state) ?? [];
    expect(states.filter((state) => state !== 'released')).toEqual(['settled']);
  },
);

test('a duplicate is whole from when it is there: retries that come while its files are copied are given the same one', async () => {
  const { key } = await installation.createOrg();
  const made = await other.rest<{ agent: { id: string } }>('POST', '/agents', {
    key,
    body: { name: 'Own', system_prompt: 'x' },
  });
  const path = `/agents/${made.body.agent.id}`;
  const names = Array.from({ length: 8 }, (_, nth) => `${nth}.txt`);
  for (const name of names) {
    const form = new FormData();
    form.append('file', new Blob([`About ${name}.`]), name);
    const headers = { authorization: `Bearer ${key}` };
    const upload = { method: 'POST', headers, body: form };
    expect((await fetch(`${other.origin}/api/v1${path}/knowledge`, upload)).ok).toBe(true);
  }
  const headers = { 'idempotency-key': 'at once' };
  const duplicate = () =>
    other.rest<{ agent: { id: string } }>('POST', `${path}/duplicate`, { key, headers, body: {} });
  const answers = [duplicate()];
  for (let retries = 0; retries < 6; retries++) {
    await sleep(10);
    answers.push(duplicate());
  }
  const all = await Promise.all(answers);
  // Whichever came first is answered; the others meet it, or are told that it is on its way.
  const copy = all.find(({ status }) => status === 200)!.body.agent.id;
  for (const { status, body } of all)
    expect([status, body.agent?.id]).toEqual(status === 409 ? [409, undefined] : [200, copy]);
  expect((await duplicate()).body.agent.id).toBe(copy);
  const listed = await other.rest<{ files: { filename: string }[] }>('GET', `/agents/${copy}/knowledge`, {
    key,
  });
  expect(listed.body.files.map(({ filename }) => filename).toSorted()).toEqual(names);
  const agents = await other.rest<Listed>('GET', '/agents', { key });
  expect(agents.body.agents).toHaveLength(2);
});
