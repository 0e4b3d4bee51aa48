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
