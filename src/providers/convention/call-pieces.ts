import { argumentsText, isFields } from './said.js';

/** What a part of a call says of its function. */
export function callPieces(asked: unknown): { name: string; arguments: string } {
  if (!isFields(asked)) return { name: '', arguments: '' };
  const { name, arguments: given } = asked;
  return { name: typeof name === 'string' ? name : '', arguments: argumentsText(given) };
}

/** Longer arguments are taken for unfinished: with every part they would be parsed again. */
const MAX_WHOLE_LENGTH = 256 * 1024;

/** Arguments that came whole. */
export function isWhole(given: string): boolean {
  if (given.length > MAX_WHOLE_LENGTH) return false;
  // Nearly all parts end elsewhere.
  if (!given.trimEnd().endsWith('}')) return false;
  try {
    JSON.parse(given);
    return true;
  } catch {
    return false;
  }
}

/**
 * What a part adds to a name: some upstreams cut names in pieces, some say them again in every part, or all of them so far.
 * @param names of the tools on offer, where they are known
 */
export function nameRest(soFar: string, piece: string, names: readonly string[]): string {
  if (soFar === '' || piece === '') return piece;
  const isBegun = (name: string): boolean => names.some((known) => known.startsWith(name));
  if (piece === soFar && names.includes(soFar)) return '';
  if (isBegun(soFar + piece) || !piece.startsWith(soFar)) return piece;
  return names.length === 0 || isBegun(piece) || piece === soFar ? piece.slice(soFar.length) : piece;
}

/** Whether a name may still be the beginning of a longer one. */
export function mayGoOn(name: string, names: readonly string[]): boolean {
  return name !== '' && names.some((known) => known.length > name.length && known.startsWith(name));
}

/**
 * What a part adds to a call's arguments: some upstreams end with all of them once more, or say all of them so far in every part. An object
 * does not begin again inside itself, unless a value may stand there.
 * @param again the part says other things again too
 */
export function argumentsRest(soFar: string, piece: string, again: boolean): string {
  if (soFar === '' || piece.length < soFar.length || !piece.startsWith(soFar)) return piece;
  if (!soFar.trimStart().startsWith('{')) return piece;
  const mayStand = /[:,[]\s*$/.test(soFar.slice(-16));
  return mayStand && !again ? piece : piece.slice(soFar.length);
}
