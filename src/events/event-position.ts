import { invalid } from '../contract/errors.js';

/** What one look at the database saw: every transaction before `end` but those of `open`, which were at work then. */
export interface TransactionSnapshot {
  end: bigint;
  open: readonly bigint[];
}

/** An event's place in the order in which events are read. */
export interface EventKey {
  /** When it was written, in microseconds since 1970. */
  at: bigint;
  /** The id of the entity that it is of. */
  id: string;
  sequence: number;
}

/**
 * How far a reader is in the events of a whole organisation, whose entities are numbered each for itself. Sequences of the organisation would make its
 * transactions wait for each other; times are not the order in which transactions end. So a position is what the reader's looks saw: an event is new
 * where its transaction was not seen.
 */
export interface EventPosition {
  /** All of this was delivered. */
  seen: TransactionSnapshot;
  /** A later look of which the events up to `last` were delivered; null: none is begun. */
  within: TransactionSnapshot | null;
  last: EventKey | null;
}

/** Whether a look saw what a transaction wrote. */
export function isVisible({ end, open }: TransactionSnapshot, transaction: bigint): boolean {
  return transaction < end && !open.includes(transaction);
}

/** Reads PostgreSQL's text of a snapshot: `xmin:xmax:xip,xip`. */
export function parseSnapshot(snapshot: string): TransactionSnapshot {
  const [, end = '', open = ''] = snapshot.split(':');
  return { end: BigInt(end), open: open === '' ? [] : open.split(',').map(BigInt) };
}

const MAX_CURSOR = 16_384;
/** Below the greatest number of a transaction, and of a time that PostgreSQL knows. */
const NUMBER = /^\d{1,18}$/;
const ID = /^[a-z]+_[0-9a-z]{1,64}$/;

/** A position as callers hold it. */
export function toCursor({ seen, within, last }: EventPosition): string {
  const looks = [seen, ...(within === null ? [] : [within])].map(({ end, open }) => [end, ...open].join(','));
  const key = last === null ? [] : [last.at, last.id, last.sequence];
  return Buffer.from([...looks, ...key].join(':')).toString('base64url');
}

/** @throws ApiError invalid_request */
export function fromCursor(cursor: string): EventPosition {
  const [seen, within, at, id, sequence, ...rest] =
    cursor.length > MAX_CURSOR ? [] : Buffer.from(cursor, 'base64url').toString('latin1').split(':');
  if (seen === undefined || rest.length > 0) throw notACursor();
  if (within === undefined) return { seen: readSeen(seen), within: null, last: null };
  const isKey = NUMBER.test(at ?? '') && ID.test(id ?? '') && /^\d{1,9}$/.test(sequence ?? '');
  if (at === undefined || id === undefined || !isKey) throw notACursor();
  return {
    seen: readSeen(seen),
    within: readSeen(within),
    last: { at: BigInt(at), id, sequence: Number(sequence) },
  };
}

function readSeen(text: string): TransactionSnapshot {
  const numbers = text.split(',');
  if (!numbers.every((number) => NUMBER.test(number))) throw notACursor();
  const [end = 0n, ...open] = numbers.map(BigInt);
  return { end, open };
}

const notACursor = (): Error => invalid('after must be the cursor of an item of this subscription', 'after');
