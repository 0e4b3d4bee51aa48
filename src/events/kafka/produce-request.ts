import { createRequire } from 'node:module';
import type { IHeaders, Message } from 'kafkajs';
import { crc32c } from './crc32c.js';

/** A number of 64 bits as kafkajs has it. */
interface Long {
  toString(): string;
}

/** What kafkajs's producer hands to its encoder of requests. */
export interface Produce {
  acks: number;
  timeout: number;
  transactionalId?: string | null;
  producerId?: Long;
  producerEpoch?: number;
  /** 0 or absent: none. */
  compression?: number;
  topicData: { topic: string; partitions: ProducePartition[] }[];
}

export interface ProducePartition {
  partition: number;
  messages: Message[];
  firstSequence?: number;
}

/** What kafkajs takes from an encoder. */
interface Encoded {
  buf: Buffer;
  buffer: Buffer;
  size(): number;
}

interface ProduceRequest {
  apiKey: number;
  apiVersion: number;
  apiName: string;
  expectResponse(): boolean;
  encode(): Promise<Encoded>;
}

type CreateRequest = (produce: Produce) => ProduceRequest;

type Field = Buffer | string | null | undefined;

/** Zigzag: small negative numbers are short, too. */
const zigzag = (value: number): number => (value < 0 ? -2 * value - 1 : 2 * value);

function sizeOfVarint(value: number): number {
  let size = 1;
  for (let rest = zigzag(value); rest >= 128; rest = Math.floor(rest / 128)) size += 1;
  return size;
}

const lengthOf = (field: Field): number =>
  field == null ? -1 : typeof field === 'string' ? Buffer.byteLength(field) : field.length;

/** Writes from the front into memory of exactly the right size. */
class Writer {
  private at = 0;
  readonly bytes: Buffer;

  constructor(size: number) {
    this.bytes = Buffer.allocUnsafe(size);
  }

  get written(): number {
    return this.at;
  }

  int8(value: number): void {
    this.bytes[this.at++] = value;
  }

  int16(value: number): void {
    this.at = this.bytes.writeInt16BE(value, this.at);
  }

  int32(value: number): void {
    this.at = this.bytes.writeInt32BE(value, this.at);
  }

  int64(value: bigint): void {
    this.at = this.bytes.writeBigInt64BE(value, this.at);
  }

  string(text: string | null): void {
    this.int16(text === null ? -1 : Buffer.byteLength(text));
    if (text !== null) this.at += this.bytes.write(text, this.at);
  }

  varint(value: number): void {
    let rest = zigzag(value);
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.bytes[this.at++] = (rest % 128) + 128;
    this.bytes[this.at++] = rest;
  }

  field(field: Field, length: number): void {
    this.varint(length);
    if (field == null) return;
    this.at += typeof field === 'string' ? this.bytes.write(field, this.at) : field.copy(this.bytes, this.at);
  }
}

/** Strings and bytes in their order: the key, the value, and each header's name and value. */
function fieldsOf(key: Field, value: Field, headers: IHeaders = {}): Field[] {
  const fields: Field[] = [key, value];
  for (const name in headers) {
    const given = headers[name];
    if (Array.isArray(given)) for (const one of given) fields.push(name, one);
    else fields.push(name, given);
  }
  return fields;
}

/** A record before it is written: its fields, their lengths, and the length of all that follows its own. */
interface Measured {
  fields: Field[];
  lengths: number[];
  timestampDelta: number;
  size: number;
}

function measureRecord(message: Message, offset: number, timestampDelta: number): Measured {
  const fields = fieldsOf(message.key, message.value, message.headers);
  const lengths: number[] = [];
  let size = 1 + sizeOfVarint(timestampDelta) + sizeOfVarint(offset) + sizeOfVarint((fields.length - 2) / 2);
  for (const field of fields) {
    const length = lengthOf(field);
    lengths.push(length);
    size += sizeOfVarint(length) + Math.max(0, length);
  }
  return { fields, lengths, timestampDelta, size };
}

/** One record of message format 2: length, attributes, differences of time and offset, key, value, headers; numbers are zigzag varints. */
function writeRecord(
  writer: Writer,
  { fields, lengths, timestampDelta, size }: Measured,
  offset: number,
): void {
  writer.varint(size);
  writer.int8(0);
  writer.varint(timestampDelta);
  writer.varint(offset);
  writer.field(fields[0], lengths[0] ?? -1);
  writer.field(fields[1], lengths[1] ?? -1);
  writer.varint((fields.length - 2) / 2);
  for (let i = 2; i < fields.length; i++) writer.field(fields[i], lengths[i] ?? -1);
}

/** A batch before it is written. */
interface Batch {
  partition: number;
  records: Measured[];
  /** Of all its bytes. */
  size: number;
  firstTimestamp: number;
  maxTimestamp: number;
  firstSequence: number;
}

/** What stands before a batch's records, and where its checksum and what that covers begin. */
const BATCH_HEAD = 61;
const LENGTH_END = 12;
const CHECKED = 21;

function measureBatch({ partition, messages, firstSequence = 0 }: ProducePartition): Batch {
  const now = Date.now();
  const given = messages.flatMap(({ timestamp }) => (timestamp == null ? [] : [Number(timestamp)]));
  const firstTimestamp = given.length === 0 ? now : Math.min(...given);
  const maxTimestamp = given.length === 0 ? now : Math.max(...given);
  let size = BATCH_HEAD;
  const records = messages.map((message, offset) => {
    const record = measureRecord(message, offset, Number(message.timestamp ?? now) - firstTimestamp);
    size += sizeOfVarint(record.size) + record.size;
    return record;
  });
  return { partition, records, size, firstTimestamp, maxTimestamp, firstSequence };
}

function writeBatch(
  writer: Writer,
  batch: Batch,
  { transactionalId, producerId, producerEpoch = 0 }: Produce,
): void {
  const begin = writer.written;
  writer.int64(0n);
  writer.int32(batch.size - LENGTH_END);
  writer.int32(0);
  writer.int8(2);
  writer.int32(0);
  writer.int16(transactionalId ? 16 : 0);
  writer.int32(batch.records.length - 1);
  writer.int64(BigInt(batch.firstTimestamp));
  writer.int64(BigInt(batch.maxTimestamp));
  writer.int64(BigInt(String(producerId ?? -1)));
  writer.int16(producerEpoch);
  writer.int32(batch.firstSequence);
  writer.int32(batch.records.length);
  batch.records.forEach((record, offset) => writeRecord(writer, record, offset));
  const checked = writer.bytes.subarray(begin + CHECKED, writer.written);
  writer.bytes.writeUInt32BE(crc32c(checked), begin + CHECKED - 4);
}

/** A Produce request's body (version 3 and later), uncompressed. */
export function encodeProduce(produce: Produce): Encoded {
  const { acks, timeout, transactionalId = null, topicData } = produce;
  const topics = topicData.map(({ topic, partitions }) => ({ topic, batches: partitions.map(measureBatch) }));
  let size = 2 + (transactionalId === null ? 0 : Buffer.byteLength(transactionalId)) + 2 + 4 + 4;
  for (const { topic, batches } of topics) {
    size += 2 + Buffer.byteLength(topic) + 4;
    for (const batch of batches) size += 4 + 4 + batch.size;
  }
  const writer = new Writer(size);
  writer.string(transactionalId);
  writer.int16(acks);
  writer.int32(timeout);
  writer.int32(topics.length);
  for (const { topic, batches } of topics) {
    writer.string(topic);
    writer.int32(batches.length);
    for (const batch of batches) {
      writer.int32(batch.partition);
      writer.int32(batch.size);
      writeBatch(writer, batch, produce);
    }
  }
  return { buf: writer.bytes, buffer: writer.bytes, size: () => size };
}

/** Where kafkajs 2.2.4 has its own, which the later versions are made of; it loads them with the first request that produces. */
const REQUEST = 'kafkajs/src/protocol/requests/produce/v3/request';

/**
 * Puts {@link encodeProduce} in the place of kafkajs's own encoder. The same bytes, into memory of the right size at once: kafkajs makes and
 * zeroes memory for each record and header, copies what it has five times over, and sums it byte by byte, which was most of what publishing
 * an event cost.
 */
export function patchProduce(): void {
  const load = createRequire(import.meta.url);
  const original = load(REQUEST) as CreateRequest & { patched?: true };
  const loaded = load.cache[load.resolve(REQUEST)];
  if (!loaded || original.patched) return;
  const replaced = (produce: Produce): ProduceRequest => {
    const request = original(produce);
    if (produce.compression) return request;
    return { ...request, encode: async () => encodeProduce(produce) };
  };
  loaded.exports = Object.assign(replaced, { patched: true as const });
}
