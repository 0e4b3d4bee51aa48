import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { mkdir, mkdtemp, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Kafka, logLevel } from 'kafkajs';
import { patchKafkajs } from '../../src/events/kafka/patches.js';
import { eventually } from './wait.js';

const VERSION = '4.3.0';
/** A cache outside the checkout; 44 MB. */
const CACHE = join(homedir(), '.cache', 'penstock-test', `kafka-${VERSION}`);
const STALE_LOCK_MS = 300_000;
const run = promisify(execFile);

/** A real Apache Kafka broker, the only one in its cluster, with its data in its own folder. */
export interface TestKafka {
  /** For KAFKA_BROKERS; the same after a restart. */
  brokers: string[];
  /** SIGKILL. */
  kill(): Promise<void>;
  /** SIGSTOP: its connections stay, and nothing answers; `kill` ends that too. */
  pause(): void;
  /** Starts it again with its data; resolves when it answers. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>penstock.test</groupId><artifactId>kafka</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>${VERSION}</version></dependency>
  </dependencies>
</project>`;

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

async function hasJava(): Promise<boolean> {
  const works = (command: string, flag: string) =>
    run(command, [flag]).then(
      () => true,
      () => false,
    );
  if (!(await works('java', '-version'))) return false;
  return (await exists(join(CACHE, 'lib'))) || (await works('mvn', '-v'));
}

/** Downloads the broker's jars once; other test processes wait for it. */
async function ensureJars(): Promise<string> {
  const lib = join(CACHE, 'lib');
  await mkdir(CACHE, { recursive: true });
  const lock = join(CACHE, 'lock');
  while (!(await exists(lib))) {
    const handle = await open(lock, 'wx').catch(() => null);
    if (!handle) {
      const age = await stat(lock).then(
        (info) => Date.now() - info.mtimeMs,
        () => 0,
      );
      if (age > STALE_LOCK_MS) await rm(lock, { force: true });
      await sleep(250);
      continue;
    }
    try {
      await fetchJars(lib);
    } finally {
      await handle.close();
      await rm(lock, { force: true });
    }
  }
  return lib;
}

async function fetchJars(lib: string): Promise<void> {
  const folder = await mkdtemp(join(CACHE, 'fetch-'));
  try {
    await writeFile(join(folder, 'pom.xml'), POM);
    const args = [
      '-q',
      '-B',
      'dependency:copy-dependencies',
      '-DoutputDirectory=lib',
      '-DincludeScope=runtime',
    ];
    for (let attempt = 1; ; attempt++) {
      try {
        await run('mvn', args, { cwd: folder });
        break;
      } catch (error) {
        if (attempt === 3) throw error;
        await sleep(2_000 * attempt);
      }
    }
    const jars = await readdir(join(folder, 'lib'));
    if (!jars.some((jar) => jar.startsWith(`kafka_2.13-${VERSION}`)))
      throw new Error('the broker is not among the jars');
    await rename(join(folder, 'lib'), lib);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map(async (server) => server.listening || once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

function properties(folder: string, broker: number, controller: number): string {
  return `process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:${controller}
listeners=PLAINTEXT://127.0.0.1:${broker},CONTROLLER://127.0.0.1:${controller}
advertised.listeners=PLAINTEXT://127.0.0.1:${broker},CONTROLLER://127.0.0.1:${controller}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=${join(folder, 'data')}
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
# Else a broker that was killed stays fenced for nine seconds after its return.
broker.session.timeout.ms=1500
broker.heartbeat.interval.ms=300
`;
}

async function answers(brokers: string[]): Promise<true> {
  patchKafkajs();
  const kafka = new Kafka({
    brokers,
    logLevel: logLevel.NOTHING,
    connectionTimeout: 500,
    retry: { retries: 0 },
  });
  const admin = kafka.admin();
  try {
    await admin.connect();
    await admin.describeCluster();
    return true;
  } finally {
    await admin.disconnect();
  }
}

/**
 * Starts a broker; null if there is no Java (or no Maven to download the broker), so that its tests are skipped.
 * @throws Error instead with REQUIRE_KAFKA=1 (CI)
 */
export async function startKafka(): Promise<TestKafka | null> {
  if (!(await hasJava())) {
    if (process.env['REQUIRE_KAFKA'] === '1')
      throw new Error('REQUIRE_KAFKA=1, but neither a broker nor Java and Maven are here');
    return null;
  }
  const classpath = join(await ensureJars(), '*');
  const folder = await mkdtemp(join(tmpdir(), 'penstock-kafka-'));
  const [broker, controller] = (await freePorts(2)) as [number, number];
  const config = join(folder, 'server.properties');
  await writeFile(config, properties(folder, broker, controller));
  const id = Buffer.from(randomUUID().replaceAll('-', ''), 'hex').toString('base64url').replace(/^-/, 'A');
  await run('java', [
    '-cp',
    classpath,
    'kafka.tools.StorageTool',
    'format',
    '-t',
    id,
    '-c',
    config,
    '--standalone',
  ]);

  const brokers = [`127.0.0.1:${broker}`];
  let child: ChildProcess | null = null;
  const start = async (): Promise<void> => {
    const options = ['-Xmx384m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];
    child = spawn('java', [...options, '-cp', classpath, 'kafka.Kafka', config], {
      cwd: folder,
      stdio: 'ignore',
    });
    await eventually(() => answers(brokers), { timeoutMs: 60_000, everyMs: 100, what: 'the start of Kafka' });
  };
  // The broker must end with its parent, even if a test worker is killed.
  const orphan = (): void => void child?.kill('SIGKILL');
  process.once('exit', orphan);
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const broker = child;
    child = null;
    if (!broker || broker.exitCode !== null || broker.signalCode !== null) return;
    broker.kill(signal);
    await once(broker, 'exit');
  };
  const stop = async (): Promise<void> => {
    await end('SIGKILL');
    process.off('exit', orphan);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await start();
  } catch (error) {
    await stop();
    throw error;
  }
  const pause = (): void => void child?.kill('SIGSTOP');
  return { brokers, pause, kill: () => end('SIGKILL'), restart: start, stop };
}
