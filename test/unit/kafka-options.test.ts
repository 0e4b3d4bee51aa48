import { createServer } from 'node:tls';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/index.js';
import { createKafkaClient, kafkaOptions } from '../../src/events/index.js';
import { trustReceivers } from '../support/receiver.js';

const settings = (env: Record<string, string>) => {
  const { kafka } = loadConfig({ KAFKA_BROKERS: 'a:9092, b:9093', ...env });
  if (kafka === null) throw new Error('no Kafka');
  return kafka;
};

test('a plain cluster is reached without TLS and without a login', () => {
  const options = kafkaOptions(settings({}));
  expect(options).toMatchObject({ brokers: ['a:9092', 'b:9093'], ssl: false });
  expect(options.sasl).toBeUndefined();
});

test.each(['plain', 'scram-sha-256', 'scram-sha-512'])(
  'KAFKA_SSL and KAFKA_SASL_* reach the client: %s',
  (mechanism) => {
    const env = {
      KAFKA_SSL: 'true',
      KAFKA_SASL_MECHANISM: mechanism,
      KAFKA_SASL_USERNAME: 'me',
      KAFKA_SASL_PASSWORD: 'word',
    };
    expect(kafkaOptions(settings(env))).toMatchObject({
      ssl: true,
      sasl: { mechanism, username: 'me', password: 'word' },
    });
  },
);

test('a login that is half given ends the start', () => {
  expect(() => settings({ KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: 'me' })).toThrow(
    /KAFKA_SASL_PASSWORD/,
  );
});

test('with KAFKA_SSL the first bytes to a broker are a TLS handshake with its verified certificate', async () => {
  trustReceivers();
  const fixture = (name: string) => readFileSync(new URL(`../support/fixtures/${name}`, import.meta.url));
  const requests: Buffer[] = [];
  const broker = createServer(
    { key: fixture('receiver-key.pem'), cert: fixture('receiver-cert.pem') },
    (socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (part: Buffer) => {
        requests.push(part);
        socket.destroy();
      });
    },
  );
  await new Promise<void>((resolve) => broker.listen(0, '127.0.0.1', resolve));
  const { port } = broker.address() as AddressInfo;
  const kafka = settings({ KAFKA_BROKERS: `127.0.0.1:${port}`, KAFKA_SSL: 'true' });
  const admin = createKafkaClient(kafka, pino({ level: 'silent' })).admin();
  await expect(admin.connect()).rejects.toThrow();
  await admin.disconnect();
  await new Promise((resolve) => broker.close(resolve));
  // After the handshake: an ApiVersions request (key 18) in Kafka's framing.
  expect(requests[0]?.readInt16BE(4)).toBe(18);
});
