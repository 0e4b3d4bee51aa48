import { ApolloClient, gql as apolloGql, HttpLink, InMemoryCache } from '@apollo/client';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { Client, fetchExchange, gql, subscriptionExchange } from '@urql/core';
import { cacheExchange } from '@urql/exchange-graphcache';
import { createClient } from 'graphql-ws';
import type { Client as Socket } from 'graphql-ws';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import WebSocket from 'ws';
import { typePolicies } from '../../client/src/apollo.js';
import { cacheConfig } from '../../client/src/urql.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

interface Page {
  jobs: { nodes: { id: string; status: string }[]; nextCursor: string | null };
}

const PAGE = `query Page($after: String) { jobs(first: 2, after: $after) { nodes { id status } nextCursor } }`;
const EDGES = `query Edges($after: String) {
  jobs(first: 2, after: $after) { edges { node { id } } pageInfo { endCursor hasNextPage } } }`;
const MORE = `{ jobs(first: 4) { nodes { id } } }`;
const LIVE = `subscription Live($id: ID!) { jobProgress(id: $id) { sequence job { id status } } }`;
/** Without ids of their own. */
const QUOTA = `{ quota { orgId quotas { bucket used } } }`;

interface Edges {
  jobs: { edges: { node: { id: string } }[]; pageInfo: { endCursor: string } };
}

const idsOf = (found: Edges | undefined) => found?.jobs.edges.map(({ node }) => node.id);

let server: TestServer;
let socket: Socket;
let headers: Record<string, string>;
let key: string;
const made: string[] = [];

const generate = async (delay: number): Promise<string> => {
  const body = { prompt: `A weir @sandbox{"delay_ms":${delay}}` };
  const job = await server.rest<{ id: string }>('POST', '/images/generations?async=true', { key, body });
  return job.body.id;
};

beforeAll(async () => {
  server = await startPenstock();
  ({ key } = await server.createOrg({ plan: 'business_monthly' }));
  headers = { authorization: `Bearer ${key}` };
  for (let count = 0; count < 5; count++) made.unshift(await generate(0));
  const done = `{ jobs(first: 5) { nodes { status } } }`;
  await eventually(async () => {
    const { data } = await server.graphql<{ jobs: { nodes: { status: string }[] } }>(done, { key });
    return data?.jobs.nodes.every(({ status }) => status === 'completed');
  });
  socket = createClient({ url: server.wsUrl, webSocketImpl: WebSocket, connectionParams: headers });
});
afterAll(async () => {
  await socket?.dispose();
  await server?.close();
});

describe('urql with the cache of @penstock/client', () => {
  const open = () =>
    new Client({
      url: server.graphqlUrl,
      preferGetMethod: false,
      fetchOptions: { headers },
      exchanges: [
        cacheExchange(cacheConfig),
        fetchExchange,
        subscriptionExchange({
          forwardSubscription: ({ query = '', variables }) => ({
            subscribe: (sink) => ({
              unsubscribe: socket.subscribe({ query, variables: variables ?? {} }, sink as never),
            }),
          }),
        }),
      ],
    });

  it('answers the pages of a list as one, and changes a job wherever it is shown', async () => {
    const client = open();
    const first = await client.query<Page>(gql(PAGE), {}).toPromise();
    expect(first.error).toBeUndefined();
    expect(first.data?.jobs.nodes.map(({ id }) => id)).toEqual(made.slice(0, 2));
    const after = first.data?.jobs.nextCursor;
    await client.query<Page>(gql(PAGE), { after }).toPromise();
    const both = await client.query<Page>(gql(PAGE), {}, { requestPolicy: 'cache-only' }).toPromise();
    expect(both.data?.jobs.nodes.map(({ id }) => id)).toEqual(made.slice(0, 4));

    const id = await generate(700);
    const fresh = await client.query<Page>(gql(PAGE), {}, { requestPolicy: 'network-only' }).toPromise();
    expect(fresh.data?.jobs.nodes[0]?.id).toBe(id);
    const statuses: (string | undefined)[] = [];
    const list = client.query<Page>(gql(PAGE), {}).subscribe(({ data }) => {
      statuses.push(data?.jobs.nodes.find((job) => job.id === id)?.status);
    });
    const live = client.subscription(gql(LIVE), { id }).subscribe(() => undefined);
    await eventually(() => statuses.at(-1) === 'completed');
    live.unsubscribe();
    list.unsubscribe();
    made.unshift(id);
  });

  it('joins pages by pageInfo, and asks for what no page has and for a page of another size', async () => {
    const client = open();
    const first = await client.query<Edges>(gql(EDGES), {}).toPromise();
    const after = first.data?.jobs.pageInfo.endCursor;
    const both = await client.query<Edges>(gql(EDGES), { after }).toPromise();
    expect(idsOf(both.data)).toEqual(made.slice(0, 4));
    const nodes = await client.query<Page>(gql(PAGE), {}).toPromise();
    expect(nodes.data?.jobs.nodes.map(({ id }) => id)).toEqual(made.slice(0, 2));
    const more = await client.query<Page>(gql(MORE), {}).toPromise();
    expect(more.data?.jobs.nodes.map(({ id }) => id)).toEqual(made.slice(0, 4));
    const again = await client.query<Edges>(gql(EDGES), {}, { requestPolicy: 'cache-only' }).toPromise();
    expect(idsOf(again.data)).toEqual(made.slice(0, 4));
  });

  it('answers a page that was read alone', async () => {
    const first = await open().query<Edges>(gql(EDGES), {}).toPromise();
    const after = first.data?.jobs.pageInfo.endCursor;
    const second = await open().query<Edges>(gql(EDGES), { after }).toPromise();
    expect(idsOf(second.data)).toEqual(made.slice(2, 4));
  });

  it('takes what has no id of its own with what it belongs to', async () => {
    const { data, error } = await open().query(gql(QUOTA), {}).toPromise();
    expect(error).toBeUndefined();
    expect((data as { quota: { quotas: object[] } }).quota.quotas.length).toBeGreaterThan(5);
  });
});

describe('Apollo Client with the cache of @penstock/client', () => {
  const open = (link = new HttpLink({ uri: server.graphqlUrl, headers }) as HttpLink | GraphQLWsLink) =>
    new ApolloClient({ link, cache: new InMemoryCache({ typePolicies }) });

  it('grows a list by fetchMore, and changes a job wherever it is shown', async () => {
    const client = open(new GraphQLWsLink(socket));
    const watched = client.watchQuery<Page>({ query: apolloGql(PAGE) });
    const seen: (Page | undefined)[] = [];
    const list = watched.subscribe(({ data }) => void seen.push(data as Page | undefined));
    await eventually(() => seen.at(-1) !== undefined);
    expect(seen.at(-1)?.jobs.nodes.map(({ id }) => id)).toEqual(made.slice(0, 2));
    await watched.fetchMore({ variables: { after: seen.at(-1)?.jobs.nextCursor } });
    await eventually(() => seen.at(-1)?.jobs.nodes.length === 4);
    expect(seen.at(-1)?.jobs.nodes.map(({ id }) => id)).toEqual(made.slice(0, 4));

    const id = await generate(700);
    await watched.refetch();
    const live = client.subscribe({ query: apolloGql(LIVE), variables: { id } }).subscribe(() => undefined);
    await eventually(() => seen.at(-1)?.jobs.nodes.find((job) => job.id === id)?.status === 'completed');
    live.unsubscribe();
    list.unsubscribe();
    made.unshift(id);
    client.stop();
  });

  it('grows edges and nodes, each once, also where a page is requested twice', async () => {
    const client = open();
    const first = await client.query<Edges>({ query: apolloGql(EDGES) });
    await client.query<Page>({ query: apolloGql(PAGE) });
    const edges = client.watchQuery<Edges>({ query: apolloGql(EDGES) });
    const nodes = client.watchQuery<Page>({ query: apolloGql(PAGE) });
    const lists = [edges.subscribe(() => undefined), nodes.subscribe(() => undefined)];
    const after = first.data?.jobs.pageInfo.endCursor;
    for (const list of [edges, edges, nodes, nodes]) await list.fetchMore({ variables: { after } });
    expect(idsOf(client.readQuery<Edges>({ query: apolloGql(EDGES) }) ?? undefined)).toEqual(
      made.slice(0, 4),
    );
    const page = client.readQuery<Page>({ query: apolloGql(PAGE) });
    expect(page?.jobs.nodes.map(({ id }) => id)).toEqual(made.slice(0, 4));
    for (const list of lists) list.unsubscribe();
    client.stop();
  });

  it('takes what has no id of its own with what it belongs to', async () => {
    const client = open();
    const { data } = await client.query<{ quota: { quotas: object[] } }>({ query: apolloGql(QUOTA) });
    expect(data?.quota.quotas.length).toBeGreaterThan(5);
    client.stop();
  });
});
