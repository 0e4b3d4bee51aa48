import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/index.js';
import { publicUrlOf } from '../../src/database/index.js';
import { signIn } from '../support/people.js';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
beforeAll(async () => {
  server = await startPenstock();
});
afterAll(() => server.close());

interface Key {
  id: string;
  name: string;
  createdBy: string;
}

test('keys tell who made them, and are listed by maker also once that person has left', async () => {
  const { orgId } = await server.createOrg();
  const owner = await signIn(server, { orgId, email: 'owner@makers.example', role: 'owner' });
  const admin = await signIn(server, { orgId, email: 'Leaves@makers.example', role: 'admin' });
  const make = async (who: typeof owner, name: string) => {
    const { data } = await who.graphql(
      `mutation { createApiKey(input: { name: "${name}", scopes: [chat] }) { apiKey { createdBy } } }`,
    );
    return (data!['createApiKey'] as { apiKey: Key }).apiKey.createdBy;
  };
  expect(await make(owner, 'one')).toBe('owner@makers.example');
  expect(await make(admin, 'two')).toBe('leaves@makers.example');
  await owner.graphql(`mutation { removePenstockMember(userId: "${admin.userId}") { success } }`);
  const listed = async (by?: string) => {
    const given = by === undefined ? '' : `(createdBy: ${JSON.stringify(by)})`;
    const { data } = await owner.graphql(`{ apiKeys${given} { nodes { name createdBy } } }`);
    return (data!['apiKeys'] as { nodes: Key[] }).nodes.map(({ name, createdBy }) => `${name} ${createdBy}`);
  };
  expect(await listed()).toEqual([
    'test command line',
    'one owner@makers.example',
    'two leaves@makers.example',
  ]);
  expect(await listed(' Leaves@Makers.example ')).toEqual(['two leaves@makers.example']);
  expect(await listed('command line')).toEqual(['test command line']);
  expect(await listed('nobody@makers.example')).toEqual([]);
  const byCli = await server.cli<{ keys: Key[] }>(
    'key',
    'list',
    '--org',
    orgId,
    '--created-by',
    'leaves@makers.example',
  );
  expect(byCli.keys).toMatchObject([{ name: 'two', createdBy: 'leaves@makers.example' }]);
});

test('the command line tells the address that the servers tell, where its own environment names none', async () => {
  const { database } = server.services;
  // As with the embedded database: only there the environment need not name it.
  expect(await publicUrlOf(database, loadConfig({ PORT: '5999', HOST: '0.0.0.0' }))).toBe(server.origin);
  const named = loadConfig({ PORT: '5999', PUBLIC_URL: 'https://ai.example.com/' });
  expect(await publicUrlOf(database, named)).toBe('https://ai.example.com');
});
