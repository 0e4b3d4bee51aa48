import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startPenstock, type TestServer } from '../support/server.js';

const COUNT = 12;

interface Page {
  nodes: { id: string }[];
  pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string; endCursor: string };
  totalCount: number;
}

describe('the list of jobs', () => {
  let server: TestServer;
  let keys: { key: string; keyId: string }[];
  /** Newest first. */
  let ids: string[];
  beforeAll(async () => {
    server = await startPenstock({
      plans: { endpointLimits: { image: { limit: 1000, windowSeconds: 60 } } },
    });
    const org = await server.createOrg({ plan: 'business_monthly' });
    const { id: keyId, key: second } = await server.createKey(org.orgId);
    keys = [org, { keyId, key: second }];
    ids = [];
    for (let at = 0; at < COUNT; at++) {
      const { key } = keys[at % 2]!;
      const prompt = at === 3 ? 'A 100% Calm_Lake' : `a dam ${at}`;
      const body = { prompt, size: '512x512' };
      const { body: made } = await server.rest<{ id: string }>('POST', '/images/generations?async=true', {
        key,
        body,
      });
      ids.unshift(made.id);
    }
    await server.services.database.system.query(
      `UPDATE usage_ledger SET end_user = 'ann' WHERE key_id = $1`,
      [keyId],
    );
    for (const id of ids) await server.rest('GET', `/jobs/${id}?poll=true`, { key: org.key });
  });
  afterAll(() => server?.close());

  async function page(args: string, selection = 'nodes { id } totalCount'): Promise<Page> {
    const text = `{ jobs(${args}) { ${selection} pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`;
    const { data, errors } = await server.graphql<{ jobs: Page }>(text, { key: keys[0]!.key });
    expect(errors).toEqual([]);
    return data!.jobs;
  }
  const idsOf = ({ nodes }: Page) => nodes.map(({ id }) => id);

  it('goes forwards and backwards, in either order, and counts all when asked', async () => {
    const first = await page('first: 5');
    expect(idsOf(first)).toEqual(ids.slice(0, 5));
    expect(first.totalCount).toBe(COUNT);
    const second = await page(`first: 5, after: "${first.pageInfo.endCursor}"`);
    expect(idsOf(second)).toEqual(ids.slice(5, 10));
    const back = await page(`last: 5, before: "${second.pageInfo.startCursor}"`);
    expect(idsOf(back)).toEqual(ids.slice(0, 5));
    expect(back.pageInfo).toMatchObject({ hasPreviousPage: false, hasNextPage: true });
    const end = await page('last: 5');
    expect(idsOf(end)).toEqual(ids.slice(-5));
    expect(end.pageInfo).toMatchObject({ hasPreviousPage: true, hasNextPage: false });
    const oldest = await page('first: 5, sort: oldest');
    expect(idsOf(oldest)).toEqual(ids.toReversed().slice(0, 5));
    const next = await page(`first: 5, sort: oldest, after: "${oldest.pageInfo.endCursor}"`);
    expect(idsOf(next)).toEqual(ids.toReversed().slice(5, 10));
  });

  it('holds what its filter names', async () => {
    const found = async (filter: string) => {
      const answer = await page(`first: 50, filter: { ${filter} }`);
      expect(answer.totalCount).toBe(answer.nodes.length);
      return idsOf(answer).length;
    };
    expect(await found('tools: [image, video]')).toBe(COUNT);
    expect(await found('tools: [video]')).toBe(0);
    expect(await found('tools: []')).toBe(0);
    expect(await found('statuses: [completed]')).toBe(COUNT);
    expect(await found('statuses: [pending, failed]')).toBe(0);
    expect(await found(`keyIds: ["${keys[1]!.keyId}"]`)).toBe(COUNT / 2);
    expect(await found('models: ["sandbox/image-standard"]')).toBe(COUNT);
    expect(await found('models: ["no/such"]')).toBe(0);
    expect(await found('endUsers: ["ann"]')).toBe(COUNT / 2);
    expect(await found('prompt: "100% calm_"')).toBe(1);
    expect(await found('prompt: "a__am"')).toBe(0);
    expect(await found('since: "2000-01-01T00:00:00Z", until: "9000-01-01T00:00:00Z"')).toBe(COUNT);
    expect(await found('until: "2000-01-01T00:00:00Z"')).toBe(0);
  });

  it.each([
    ['first: 0', 'first'],
    ['last: 0', 'last'],
    ['last: 101', 'last'],
    ['before: "x"', 'before'],
    [`filter: { prompt: "${'x'.repeat(201)}" }`, 'prompt'],
    [`filter: { models: [${'"x" '.repeat(101)}] }`, 'models'],
    ['filter: { since: "0001-01-01T00:00:00Z" }', 'since'],
  ])('refuses %s', async (args, param) => {
    const { errors } = await server.graphql(`{ jobs(${args}) { nodes { id } } }`, { key: keys[0]!.key });
    expect(errors[0]?.extensions).toMatchObject({ code: 'invalid_request', httpStatus: 400, param });
  });

  it('reads what all jobs of a page refer to in one look-up of each kind', async () => {
    const names = vi.spyOn(server.services.keys, 'namesOf');
    const statements = vi.spyOn(server.services.database, 'tenantQuery');
    const { nodes } = await page(
      'first: 50',
      'nodes { id keyId key { id name } modelId model { id tier } input { __typename } output { __typename } }',
    );
    expect(nodes).toHaveLength(COUNT);
    expect(nodes).toContainEqual(
      expect.objectContaining({
        key: { id: keys[1]!.keyId, name: expect.any(String) as string },
        modelId: 'sandbox/image-standard',
        model: { id: 'sandbox/image-standard', tier: 'standard' },
        output: { __typename: 'ImageOutput' },
      }),
    );
    expect([names.mock.calls.length, statements.mock.calls.length]).toEqual([1, 1]);
  });
});
