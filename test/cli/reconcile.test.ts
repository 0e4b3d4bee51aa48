import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Reconciliation } from '../../src/usage/index.js';
import { createFolding } from '../../src/usage/index.js';
import { pino } from 'pino';
import type { TestServer } from '../support/server.js';
import { startPenstock } from '../support/server.js';
import type { TestOrg } from '../support/installation.js';
import { writeLedger } from '../support/usage.js';

let server: TestServer;
let org: TestOrg;

const AT = Date.parse('2026-10-31T12:00:00Z');

beforeAll(async () => {
  server = await startPenstock({ role: 'api' });
  org = await server.createOrg();
  for (const input of ['one', 'two', 'three'])
    await server.rest('POST', '/embeddings', { key: org.key, body: { input, model: 'sandbox/embedding' } });
  await server.rest('POST', '/chat/completions', {
    key: org.key,
    body: { model: 'sandbox/chat-basic', messages: [{ role: 'user', content: 'Hello' }] },
  });
  await writeLedger(
    server.services.database,
    org.orgId,
    [1, 2, 3, 4].map((at) => ({
      settledAt: new Date(AT + at * 60_000),
      model: 'maker/a',
      // The last was tried twice: its invoice has a line for each.
      upstreamId: at === 4 ? 'up-4a up-4b' : `up-${at}`,
      tokens: [100 * at, 40, 0, 50, 0],
      costNano: String(1_500_000 * at),
      tags: ['a', 'b'],
    })),
  );
  const folding = createFolding({ ...server.services, logger: pino({ level: 'silent' }) });
  await folding.fold();
  await folding.close();
});
afterAll(() => server.close());

/** The answer and the exit code. */
async function reconcile(...more: string[]): Promise<Reconciliation & { code: number }> {
  try {
    return { ...(await server.cli<Reconciliation>('reconcile', '--org', org.orgId, ...more)), code: 0 };
  } catch (error) {
    const { stdout, code } = error as { stdout: string; code: number };
    return { ...(JSON.parse(stdout) as Reconciliation), code };
  }
}

async function invoice(...lines: string[]): Promise<string> {
  const file = join(server.installation.dataDir, 'invoice.csv');
  const head = 'request_id,model,input_tokens,cached_tokens,output_tokens,cost_usd';
  await writeFile(file, [head, ...lines].join('\r\n'));
  return file;
}

const LINES = [1, 2, 3].map((at) => `up-${at},a,${100 * at},40,50,${(0.0015 * at).toFixed(6)}`);
const TWICE = ['up-4a,b,150,20,20,0.0025', 'up-4b,a,250,20,30,0.0035'];

const spoil = (text: string) => server.installation.sql(text, [org.orgId]);

describe('reconcile', () => {
  it('finds nothing where all agree, and ends with 0', async () => {
    expect(await reconcile()).toMatchObject({ code: 0, differences: [], dropped: 0, periods: 1 });
  });

  it('adds up anew what was folded anew', async () => {
    const { folded } = await server.cli<{ folded: number }>('usage', 'rebuild', '--org', org.orgId);
    expect(folded).toBeGreaterThanOrEqual(4);
    expect(await reconcile()).toMatchObject({ code: 0, differences: [] });
  });

  it.each<[string, string, string, object]>([
    [
      'a balance that was used otherwise',
      'UPDATE balances SET used[1] = used[1] + 100 WHERE org_id = $1',
      'UPDATE balances SET used[1] = used[1] - 100 WHERE org_id = $1',
      { what: 'balance used', of: expect.stringMatching(/credits$/) },
    ],
    [
      'a reservation that nobody holds',
      'UPDATE balances SET reserved[3] = 100 WHERE org_id = $1',
      'UPDATE balances SET reserved[3] = 0 WHERE org_id = $1',
      {
        what: 'balance reserved',
        of: expect.stringMatching(/image_generations$/),
        expected: '0',
        found: '100',
      },
    ],
    [
      'rollups that were changed',
      'UPDATE usage_rollups SET cost_nano = cost_nano + 1 WHERE org_id = $1 AND level = 1 AND dims = 0',
      'UPDATE usage_rollups SET cost_nano = cost_nano - 1 WHERE org_id = $1 AND level = 1 AND dims = 0',
      { what: 'rollups', of: 'level 1 dims 0 cost' },
    ],
    [
      'cells that were changed',
      'UPDATE usage_cells SET credits = credits + 5 WHERE org_id = $1 AND ctid = (SELECT min(ctid) FROM usage_cells)',
      'UPDATE usage_cells SET credits = credits - 5 WHERE org_id = $1 AND credits % 100 = 5',
      { what: 'rollups of the period', of: expect.stringMatching(/credits$/) },
    ],
  ])('names %s, and ends with 1', async (_, break_, mend, difference) => {
    await spoil(break_);
    const found = await reconcile();
    expect(found.code).toBe(1);
    expect(found.differences).toContainEqual(expect.objectContaining(difference));
    await spoil(mend);
    expect(await reconcile()).toMatchObject({ code: 0, differences: [] });
  });

  it('agrees with an invoice of the same answers', async () => {
    expect(await reconcile('--invoice', await invoice(...LINES, ...TWICE))).toMatchObject({
      code: 0,
      differences: [],
    });
  });

  it('names every difference of an invoice', async () => {
    const file = await invoice(
      LINES[0]!.replace('0.001500', '0.0016'),
      LINES[1]!.replace(',40,', ',30,').replace(',a,', ',z,'),
      ...TWICE,
      'up-9,a,1,0,1,0.5',
    );
    const { code, differences } = await reconcile('--invoice', file);
    expect(code).toBe(1);
    expect(differences).toEqual([
      { what: 'invoice cost_usd', of: 'up-1', expected: '0.0015', found: '0.0016' },
      { what: 'invoice model', of: 'up-2', expected: 'maker/a', found: 'z' },
      { what: 'invoice cached_tokens', of: 'up-2', expected: 40, found: 30 },
      { what: 'invoice names what the ledger does not know', of: 'up-9', expected: null, found: '0.5' },
      { what: 'invoice does not name what the ledger knows', of: 'up-3', expected: '0.0045', found: null },
    ]);
  });

  it('reads an invoice as spreadsheets write it: with a mark at its beginning, quotes, empty lines, and an answer in two lines', async () => {
    const [first = '', ...others] = LINES;
    const halves = ['"up-1","a",40,40,50,0.0005', 'up-1, a ,60,0,0,0.001'];
    expect(first).toContain('up-1,a,100,40,50,0.0015');
    const file = await invoice(...halves, '', ...others, ...TWICE);
    await writeFile(file, `\uFEFF${await readFile(file, 'utf8')}\r\n\r\n`);
    expect(await reconcile('--invoice', file)).toMatchObject({ code: 0, differences: [] });
  });

  it.each([
    ['is not UTF-8', Buffer.from([0x61, 0xff, 0xfe, 0x0a]), /it is not UTF-8/],
    ['has a quote that does not end', 'request_id,model\n"up-1,a\n', /Quote Not Closed/],
    ['lacks a column', 'request_id,model\nup-1,a\n', /line 1: there is no column input_tokens/],
    ['is empty', '', /line 1: there is no column request_id/],
  ])('refuses an invoice that %s', async (_, content, message) => {
    const file = await invoice();
    await writeFile(file, content);
    await expect(server.cli('reconcile', '--org', org.orgId, '--invoice', file)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(message),
    });
  });

  it('tells the line of an invoice that cannot be read', async () => {
    const file = await invoice(LINES[0]!, 'up-2,a,1,0,1,much');
    await expect(server.cli('reconcile', '--org', org.orgId, '--invoice', file)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/line 3: cost_usd/),
    });
  });
});
