import { afterAll, beforeAll, expect, test } from 'vitest';
import { createInstallation, type Installation } from '../support/installation.js';
import { spawnPenstock, type SpawnedServer } from '../support/spawned.js';
import { eventually } from '../support/wait.js';

let installation: Installation;
let other: SpawnedServer;
beforeAll(async () => {
  installation = await createInstallation();
  other = await spawnPenstock(installation, { role: 'all' });
});
afterAll(async () => {
  await other?.close();
  await installation?.close();
});

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

test.each(['agents', 'duplicates', 'webhooks', 'files'])(
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
    const [path, body] = {
      agents: ['/agents', { name: 'Once', system_prompt: 'x' }] as const,
      duplicates: [`${at}/duplicate`, {}] as const,
      webhooks: ['/webhooks', hook] as const,
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
