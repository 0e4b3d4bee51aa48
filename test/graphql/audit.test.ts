import { serverAudits } from 'graphql-http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
let key: string;

beforeAll(async () => {
  server = await startPenstock();
  ({ key } = await server.createOrg({ plan: 'cli_team' }));
});
afterAll(() => server?.close());

const audits = serverAudits({
  url: () => server.graphqlUrl,
  fetchFn: (input: string, init: RequestInit = {}) =>
    fetch(input, {
      ...init,
      headers: { ...(init.headers as Record<string, string>), authorization: `Bearer ${key}` },
    }),
});

describe('GraphQL over HTTP, audited as a server', () => {
  it('is asked all 61 questions', () => expect(audits).toHaveLength(61));

  it.each(audits.map((audit) => [`${audit.id} ${audit.name}`, audit] as const))(
    '%s',
    async (_name, audit) => {
      const result = await audit.fn();
      expect(result).toMatchObject({ status: 'ok' });
    },
  );
});
