import { createRequire } from 'node:module';
import type { IHeaders } from 'kafkajs';

/** A message as kafkajs hands it to its encoder of records. */
export interface KafkaRecord {
  key?: Buffer | string | null;
  value: Buffer | string | null;
  headers?: IHeaders;
  offsetDelta?: number;
  timestampDelta?: number;
}

type Field = Buffer | string | null | undefined;

/** What kafkajs's batches take from an encoder. */
interface Encoded {
  buf: Buffer;
  buffer: Buffer;
}

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

  constructor(readonly bytes: Buffer) {}

  byte(value: number): void {
    this.bytes[this.at++] = value;
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
function fieldsOf({ key, value, headers = {} }: KafkaRecord): Field[] {
  const fields: Field[] = [key, value];
  for (const [name, given] of Object.entries(headers)) {
    if (Array.isArray(given)) for (const one of given) fields.push(name, one);
    else fields.push(name, given);
  }
  return fields;
}

/**
 * One record of Kafka's message format 2: length, attributes, differences of time and offset, key, value, headers; every number a zigzag
 * varint. The same bytes as kafkajs makes, into memory of the right size at once: kafkajs makes and zeroes half a kilobyte for the record
 * and for each header, and grows it, which was a third of what publishing an event cost.
 */
export function encodeRecord(record: KafkaRecord): Encoded {
  const { offsetDelta = 0, timestampDelta = 0 } = record;
  const fields = fieldsOf(record);
  const lengths = fields.map(lengthOf);
  const headers = (fields.length - 2) / 2;
  let size = 1 + sizeOfVarint(timestampDelta) + sizeOfVarint(offsetDelta) + sizeOfVarint(headers);
  for (const length of lengths) size += sizeOfVarint(length) + Math.max(0, length);
  const writer = new Writer(Buffer.allocUnsafe(sizeOfVarint(size) + size));
  writer.varint(size);
  writer.byte(0);
  writer.varint(timestampDelta);
  writer.varint(offsetDelta);
  writer.field(fields[0], lengths[0] ?? -1);
  writer.field(fields[1], lengths[1] ?? -1);
  writer.varint(headers);
  for (let i = 2; i < fields.length; i++) writer.field(fields[i], lengths[i] ?? -1);
  return { buf: writer.bytes, buffer: writer.bytes };
}

/** Where kafkajs 2.2.4 has its own; it loads what uses it with the first request that produces. */
const RECORD = 'kafkajs/src/protocol/recordBatch/record/v0';

/** Puts {@link encodeRecord} in the place of kafkajs's own encoder. */
export function patchRecords(): void {
  const load = createRequire(import.meta.url);
  load(RECORD);
  const loaded = load.cache[load.resolve(RECORD)];
  if (loaded) loaded.exports = encodeRecord;
}
