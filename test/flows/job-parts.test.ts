import { expect, it } from 'vitest';
import type { JobContext } from '../../src/jobs/index.js';
import type { TestDatabase } from '../support/database.js';
import { handlerOf, imageOutcome, useJobBench } from '../support/jobs.js';
import type { JobBench } from '../support/jobs.js';
import { eventually } from '../support/wait.js';

let test: TestDatabase;
let bench: JobBench;
const startWorker = useJobBench((made) => ({ test, bench } = made));

/** A job of speech whose caller takes it as it is made, and a reader of it. */
async function live(orgId: string) {
  const job = await bench.jobs.create({ ...(await bench.newJob(orgId, { tool: 'tts' })), live: {} });
  const parts = bench.jobs.parts(job)[Symbol.asyncIterator]();
  return { id: job.id, next: async () => String((await parts.next()).value) };
}
const speaking = (run: (context: JobContext) => Promise<void>) =>
  handlerOf(
    async (context) => {
      await run(context);
      return imageOutcome();
    },
    { tool: 'tts' },
  );
const give = ({ parts }: JobContext, text: string): void => parts?.give(Buffer.from(text));

it('parts of a job whose worker goes are no part of what another makes: the reader breaks off, and one charge is left', async () => {
  const orgId = await bench.createOrg();
  const { id, next } = await live(orgId);
  const first = startWorker([
    speaking(async (context) => {
      give(context, 'one ');
      await new Promise((_, reject) =>
        context.signal.addEventListener('abort', () => reject(context.signal.reason as Error)),
      );
    }),
  ]);
  expect(await next()).toBe('one ');
  await first.stop({ graceMs: 0 });
  startWorker([speaking(async (context) => give(context, 'uno '))]);
  await expect(next()).rejects.toThrow('Interrupted');
  expect((await bench.jobs.wait(orgId, id, { timeoutMs: 10_000 })).status).toBe('completed');
  expect(await bench.ledger(orgId)).toMatchObject([{ state: 'settled', job_id: id }]);
});

it('a part that is lost ends its reader with an error, and not its job', async () => {
  const orgId = await bench.createOrg();
  const { id, next } = await live(orgId);
  let goOn = (): void => undefined;
  startWorker([
    speaking(async (context) => {
      give(context, 'one ');
      await new Promise<void>((resolve) => (goOn = resolve));
      give(context, 'two');
    }),
  ]);
  const forgotten = 'DELETE FROM job_parts WHERE job_id = $1 RETURNING 1';
  await eventually(async () => (await test.database.system.query(forgotten, [id])).length === 1);
  goOn();
  await expect(next()).rejects.toThrow('Interrupted');
  expect((await bench.jobs.wait(orgId, id, { timeoutMs: 10_000 })).status).toBe('completed');
});
