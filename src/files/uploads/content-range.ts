import { invalid } from '../../contract/errors.js';

/** The bytes that a PUT brings; null: it asks where its file stands. */
export type PartRange = { start: number; end: number } | null;

const RANGE = /^bytes (?:(\d{1,15})-(\d{1,15})|\*)\/(\d{1,15})$/i;

/**
 * Reads `Content-Range: bytes a-b/total` or `bytes * /total` (without the blank). Without the header the body is the whole file.
 * @throws ApiError invalid_request for another form, or a range that does not lie in the file
 */
export function readContentRange(header: string | undefined, total: number): PartRange {
  if (header === undefined) return { start: 0, end: total - 1 };
  const [whole, first, last, size] = RANGE.exec(header) ?? [];
  if (whole === undefined)
    throw invalid('Content-Range must be bytes a-b/total or bytes */total', 'Content-Range');
  if (Number(size) !== total)
    throw invalid(`Content-Range must name the size of the file: ${total}`, 'Content-Range');
  if (first === undefined || last === undefined) return null;
  const [start, end] = [Number(first), Number(last)];
  if (start > end || end >= total)
    throw invalid('Content-Range must be a range of the file', 'Content-Range');
  return { start, end };
}
