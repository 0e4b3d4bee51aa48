/**
 * The topology of docker-compose.yml as plain processes: the services `api` and `worker` with the file's own commands, environment and replicas,
 * and nginx with the file's own configuration (where the machine has none, a small balancer stands for it). What the file leaves to its network (PostgreSQL, Kafka, folders, ports) is given. So file and
 * processes cannot drift apart, where no container engine is at hand.
 *
 *   DATABASE_URL=… KAFKA_BROKERS=… node scripts/topology.mjs
 */
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import { connect, createServer as createNetServer } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { hasNginx, startNginx } from './nginx.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const START_MS = 60_000;
const SERVICES = ['api', 'worker'];

/** `${NAME:-default}` is replaced as compose does it, the inner one of two first. */
function resolved(text, variables) {
  const inner = /\$\{(\w+)(?::-([^${}]*))?\}/g;
  const next = text.replace(inner, (_, name, fallback = '') => variables[name] ?? fallback);
  return next === text ? text : resolved(next, variables);
}

/** The compose file with its merges and variables. */
export async function readCompose(variables = {}) {
  const text = await readFile(join(root, 'docker-compose.yml'), 'utf8');
  return parse(resolved(text, variables), { merge: true });
}

/** `ENV` of the image's last stage. */
async function imageEnvironment() {
  const text = await readFile(join(root, 'Dockerfile'), 'utf8');
  const last = text.slice(text.lastIndexOf('\nFROM '));
  return Object.fromEntries(
    [...last.matchAll(/^ENV (.+)$/gm)].flatMap(([, pairs]) =>
      pairs.split(' ').map((pair) => pair.split('=')),
    ),
  );
}

async function freePort() {
  const server = createNetServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function ready(child, port, output) {
  const deadline = performance.now() + START_MS;
  while (child.exitCode === null && performance.now() < deadline) {
    const response = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null);
    await response?.body?.cancel();
    if (response?.status === 200) return;
    await sleep(100);
  }
  throw new Error(`a process did not start:\n${output.join('')}`);
}

/** One replica of a service. `given` stands over the file's environment. */
async function startReplica(service, given) {
  const port = await freePort();
  const [command, ...args] = service.command;
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...(await imageEnvironment()) };
  // Compose passes a variable without a value on from its own environment, or leaves it out.
  const named = Object.entries(service.environment).map(([name, value]) => [
    name,
    value ?? process.env[name],
  ]);
  Object.assign(env, Object.fromEntries(named.filter(([, value]) => value !== undefined)), given);
  Object.assign(env, { PORT: String(port), HOST: '127.0.0.1' });
  const program = command === 'node' ? process.execPath : command;
  const child = spawn(program, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (part) => output.push(part.toString()));
  const ended = new Promise((resolve) => child.once('exit', (code) => resolve(code)));
  const stop = async () => {
    child.kill('SIGTERM');
    return await ended;
  };
  try {
    await ready(child, port, output);
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  return { role: env.ROLE, port, pid: child.pid, stop, output: () => output.join('') };
}

/** What deploy/nginx.conf does, as far as tests need it: turns, WebSockets kept, X-Forwarded-For, nothing buffered. */
async function startBalancer(ports, port) {
  let turn = 0;
  const next = () => ports[turn++ % ports.length];
  const forwarded = (request) => ({ ...request.headers, 'x-forwarded-for': request.socket.remoteAddress });
  const server = createServer((request, response) => {
    const target = { host: '127.0.0.1', port: next(), path: request.url, method: request.method };
    const upstream = httpRequest({ ...target, headers: forwarded(request) }, (answer) => {
      response.writeHead(answer.statusCode, answer.rawHeaders);
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    upstream.on('error', () => (response.headersSent ? response.destroy() : response.writeHead(502).end()));
    response.on('close', () => upstream.destroy());
    request.pipe(upstream);
  });
  server.on('upgrade', (request, socket, head) => {
    const upstream = connect(next(), '127.0.0.1', () => {
      const headers = Object.entries(forwarded(request)).map(([name, value]) => `${name}: ${value}\r\n`);
      upstream.write(`${request.method} ${request.url} HTTP/1.1\r\n${headers.join('')}\r\n`);
      upstream.write(head);
      upstream.pipe(socket).pipe(upstream);
    });
    for (const [one, other] of [
      [socket, upstream],
      [upstream, socket],
    ]) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  });
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    port: server.address().port,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Starts everything. `kafkaBrokers` null leaves the file's Kafka out. */
export async function startTopology({ databaseUrl, kafkaBrokers, dataDir, port = 0, env = {} }) {
  const balancerPort = port === 0 ? await freePort() : port;
  const url = `http://127.0.0.1:${balancerPort}`;
  const compose = await readCompose({ PUBLIC_URL: url });
  const given = {
    DATABASE_URL: databaseUrl,
    KAFKA_BROKERS: kafkaBrokers ?? '',
    DATA_DIR: dataDir,
    TRUST_PROXY: 'loopback',
    ...env,
  };
  const replicas = [];
  const close = async () => await Promise.all(replicas.map((replica) => replica.stop()));
  try {
    for (const name of SERVICES) {
      const service = compose.services[name];
      for (let i = 0; i < service.deploy.replicas; i++) replicas.push(await startReplica(service, given));
    }
    const ports = replicas.filter(({ role }) => role === 'api').map((replica) => replica.port);
    const withNginx = hasNginx();
    const balancer = await (withNginx ? startNginx : startBalancer)(ports, balancerPort);
    return {
      url,
      replicas,
      balancer: withNginx ? 'nginx' : 'stand-in',
      async close() {
        await balancer.close();
        return await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { DATABASE_URL, KAFKA_BROKERS, DATA_DIR, PORT } = process.env;
  if (!DATABASE_URL) throw new Error('DATABASE_URL is required');
  const { build } = await import('./build.mjs');
  await build();
  const topology = await startTopology({
    databaseUrl: DATABASE_URL,
    kafkaBrokers: KAFKA_BROKERS ?? null,
    dataDir: DATA_DIR ?? join(root, '.data'),
    port: Number(PORT ?? 4000),
  });
  console.log(
    `${topology.replicas.map(({ role, port }) => `${role} :${port}`).join(', ')}; ${topology.balancer} ${topology.url}`,
  );
  const alive = setInterval(() => undefined, 60_000);
  await new Promise((resolve) => ['SIGINT', 'SIGTERM'].forEach((signal) => process.once(signal, resolve)));
  clearInterval(alive);
  await topology.close();
}
