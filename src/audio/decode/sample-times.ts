/**
 * MP4 files whose table of times (`stts`) names fewer samples than the file has (`stsz`): readers that go by the one hear less than those that go
 * by the other. The last time is given to all samples that have none.
 */

const HEAD = 8;
const LONG_HEAD = 16;
/** The boxes that lead to the tables. */
const PATH: ReadonlySet<string> = new Set(['moov', 'trak', 'mdia', 'minf', 'stbl']);
const MOST_BOXES = 10_000;

interface Box {
  type: string;
  start: number;
  end: number;
}

/** A track's tables. */
interface Tables {
  times?: Box;
  sizes?: Box;
}

function boxAt(file: Buffer, at: number, limit: number): Box | null {
  if (at + HEAD > limit) return null;
  const type = file.toString('latin1', at + 4, at + HEAD);
  const short = file.readUInt32BE(at);
  const isLong = short === 1 && at + LONG_HEAD <= limit;
  const size = isLong ? Number(file.readBigUInt64BE(at + HEAD)) : short === 0 ? limit - at : short;
  const start = at + (isLong ? LONG_HEAD : HEAD);
  return size < start - at ? null : { type, start, end: Math.min(at + size, limit) };
}

function tablesOf(file: Buffer): Tables[] {
  const tracks: Tables[] = [];
  let count = 0;
  const walk = (from: number, limit: number): void => {
    for (let at = from; count < MOST_BOXES;) {
      const box = boxAt(file, at, limit);
      if (box === null) return;
      count++;
      if (box.type === 'trak') tracks.push({});
      const track = tracks.at(-1);
      if (box.type === 'stts' && track !== undefined) track.times = box;
      if (box.type === 'stsz' && track !== undefined) track.sizes = box;
      if (PATH.has(box.type)) walk(box.start, box.end);
      at = box.end;
    }
  };
  walk(0, file.length);
  return tracks;
}

/** Where the count of the last time stands, and the count that it should have; null where the tables agree. */
function trueCount(file: Buffer, { times, sizes }: Tables): { at: number; count: number } | null {
  if (times === undefined || sizes === undefined || sizes.start + 12 > sizes.end) return null;
  const samples = file.readUInt32BE(sizes.start + 8);
  const entries = Math.min(file.readUInt32BE(times.start + 4), Math.floor((times.end - times.start - 8) / 8));
  let told = 0;
  for (let entry = 0; entry < entries; entry++) told += file.readUInt32BE(times.start + 8 + 8 * entry);
  if (entries <= 0 || told >= samples) return null;
  const at = times.start + 8 * entries;
  return { at, count: file.readUInt32BE(at) + samples - told };
}

/** The same file where each track's tables agree, and where it is no MP4; else a copy whose times reach to the end. */
export function withAllTimes(bytes: Uint8Array): Uint8Array {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (file.toString('latin1', 4, 8) !== 'ftyp') return bytes;
  const counts = tablesOf(file).flatMap((tables) => trueCount(file, tables) ?? []);
  if (counts.length === 0) return bytes;
  const copy = Buffer.from(file);
  for (const { at, count } of counts) copy.writeUInt32BE(count, at);
  return copy;
}
