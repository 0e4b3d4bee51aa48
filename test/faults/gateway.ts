import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { composeServices } from '@apollo/composition';
import { buildSubgraphSchema } from '@apollo/subgraph';
import { graphql, parse } from 'graphql';
import { createTestClient, readEvents, type TestClient } from '../support/client.js';
import { childEnv, freePort } from '../support/installation.js';
import { eventually } from '../support/wait.js';

/** Where `npm run clients` installs the gateway. */
export const GATEWAY = fileURLToPath(new URL('../../.cache/clients/gateway', import.meta.url));
const PROGRAM = `${GATEWAY}/node_modules/@graphql-hive/gateway/dist/bin.js`;
const RECIPE = new URL('../../docs/federation.md', import.meta.url);
const COMPANY = new URL('../../schema/company.graphql', import.meta.url);

/** The company's subgraph over HTTP: `schema/company.graphql`, and an order for each of Penstock's jobs. */
export async function startCompany(): Promise<{ url: string; typeDefs: string; close(): void }> {
  const own = await readFile(COMPANY, 'utf8');
  const typeDefs = `${own}\ntype Job @key(fields: "id") { id: ID! order: Order }`;
  const resolvers = {
    Job: { order: ({ id }: { id: string }) => ({ id: `order-of-${id}`, status: 'OPEN' }) },
    Query: { version: () => ({ number: '7' }) },
  };
  const schema = buildSubgraphSchema([{ typeDefs: parse(typeDefs), resolvers }]);
  const server: Server = createServer((request, response) => {
    void text(request).then(async (body) => {
      const { query, variables } = JSON.parse(body) as { query: string; variables?: Record<string, unknown> };
      const answer = await graphql({ schema, source: query, variableValues: variables ?? null });
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    typeDefs,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** One process of the gateway. */
export interface Gateway extends TestClient {
  /** SIGKILL, and the end. */
  kill(): Promise<void>;
}

interface Subgraph {
  name: string;
  url: string;
  typeDefs: string;
}

/** A folder with a supergraph and the files of docs/federation.md. */
export interface GatewayFolder {
  /** Starts a gateway with one of those files, always on the same port. */
  start(config: string): Promise<Gateway>;
  remove(): Promise<void>;
}

/** Composes the subgraphs and writes the folder. */
export async function setUpGateway(subgraphs: Subgraph[]): Promise<GatewayFolder> {
  await mkdir(`${GATEWAY}/runs`, { recursive: true });
  const folder = await mkdtemp(`${GATEWAY}/runs/`);
  const { supergraphSdl, errors } = composeServices(
    subgraphs.map((subgraph) => ({ ...subgraph, typeDefs: parse(subgraph.typeDefs) })),
  );
  if (supergraphSdl === undefined) throw new AggregateError(errors ?? [], 'the subgraphs do not compose');
  await writeFile(`${folder}/supergraph.graphql`, supergraphSdl);
  const recipe = await readFile(RECIPE, 'utf8');
  for (const [, name, code] of recipe.matchAll(/^```ts\n\/\/ (\S+)\n(.*?)^```/gms))
    await writeFile(`${folder}/${name}`, code ?? '');
  const port = await freePort();
  return {
    start: (config) => startGateway(folder, config, port),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

async function startGateway(folder: string, config: string, port: number): Promise<Gateway> {
  const args = [
    PROGRAM,
    'supergraph',
    '--host',
    '127.0.0.1',
    '--port',
    String(port),
    '--config-path',
    config,
  ];
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: childEnv({}),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (part: Buffer) => {
      output += part.toString();
      if (process.env['TEST_LOG']) process.stderr.write(part);
    });
  const ended = once(child, 'exit');
  const client = createTestClient(`http://127.0.0.1:${port}`);
  const gateway: Gateway = {
    ...client,
    async kill() {
      child.kill('SIGKILL');
      await ended;
      await client.close();
    },
  };
  try {
    await eventually(
      async () => {
        // not in the schema: the company's `version`
        const { data } = await gateway.graphql('{ version { number } }');
        return child.exitCode !== null || data?.['version'];
      },
      { timeoutMs: 60_000, what: 'an answer of the gateway' },
    );
    if (child.exitCode !== null) throw new Error('the gateway ended');
  } catch (error) {
    await gateway.kill();
    throw new Error(`the gateway did not start:\n${output}`, { cause: error });
  }
  return gateway;
}

/** What a subscription through the gateway is asked for. */
export interface Asked {
  query: string;
  variables: Record<string, unknown>;
  key: string;
}

interface Result<Data> {
  data?: Data | null;
  errors?: unknown;
}

/** A subscription over graphql-ws. */
export async function* overWebSocket<Data>(
  client: TestClient,
  { key, query, variables }: Asked,
): AsyncGenerator<Result<Data>> {
  yield* client.ws(key).iterate<Data>({ query, variables }) as AsyncIterable<Result<Data>>;
}

/** A subscription over Server-Sent Events. */
export async function* overEvents<Data>(
  client: TestClient,
  { key, query, variables }: Asked,
): AsyncGenerator<Result<Data>> {
  const response = await client.raw('/graphql', {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept: 'text/event-stream',
    },
    body: JSON.stringify({ query, variables }),
  });
  for await (const { event, data } of readEvents(response.body as AsyncIterable<Buffer>))
    if (event === 'next') yield JSON.parse(data) as Result<Data>;
}
