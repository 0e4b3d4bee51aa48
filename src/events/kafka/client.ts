import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kafka, logLevel } from 'kafkajs';
import type { KafkaConfig, SASLOptions } from 'kafkajs';
import type { Logger } from 'pino';
import { createKafkaLog } from './log.js';
import { patchKafkajs } from './patches.js';

/** How to reach a cluster: the `kafka` part of the configuration. */
export interface KafkaSettings {
  /** `host:port` each. */
  brokers: string[];
  /** The prefix of topics and consumer groups. */
  prefix: string;
  ssl: boolean;
  sasl: { mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'; username: string; password: string } | null;
}

/**
 * Makes a kafkajs client. Its time-outs are shorter than an outbox lease, so that a missing broker is noticed in time. It retries little by
 * itself: the relay and the consumers' supervisor retry without limit.
 */
export function createKafkaClient(settings: KafkaSettings, logger: Logger): Kafka {
  patchKafkajs();
  return new Kafka({
    ...kafkaOptions(settings),
    logLevel: logLevel.INFO,
    logCreator: createKafkaLog(logger),
  });
}

/** How a cluster is reached, as kafkajs takes it. Certificates of a private authority come by NODE_EXTRA_CA_CERTS. */
export function kafkaOptions(settings: KafkaSettings): KafkaConfig {
  return {
    clientId: `${settings.prefix}-${hostname()}-${process.pid}`,
    brokers: settings.brokers,
    ssl: settings.ssl,
    ...(settings.sasl ? { sasl: settings.sasl as SASLOptions } : {}),
    connectionTimeout: 2_000,
    authenticationTimeout: 5_000,
    requestTimeout: 5_000,
    enforceRequestTimeout: true,
    retry: { initialRetryTime: 100, maxRetryTime: 500, retries: 1 },
  };
}

/** kafkajs may take as long to disconnect as the fetch in flight, or for ever (its issue 571); it is given this long. */
const DISCONNECT_MS = 2_000;

/** Disconnects within a time limit. An error is only logged. */
export async function disconnect(client: { disconnect(): Promise<void> }, logger: Logger): Promise<void> {
  const bound = new AbortController();
  const timeout = sleep(DISCONNECT_MS, 'timeout', { signal: bound.signal }).catch(() => 'cleared');
  try {
    if ((await Promise.race([client.disconnect(), timeout])) === 'timeout') {
      logger.debug('a Kafka connection did not close in time');
    }
  } catch (error) {
    logger.debug({ err: error }, 'closing a Kafka connection failed');
  } finally {
    bound.abort();
  }
}
