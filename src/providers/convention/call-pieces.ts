import { argumentsText, isFields } from './answer-text.js';

/** The name and the arguments in one part of a tool call. */
export function callPieces(requested: unknown): { name: string; arguments: string } {
  if (!isFields(requested)) return { name: '', arguments: '' };
  const { name, arguments: given } = requested;
  return { name: typeof name === 'string' ? name : '', arguments: argumentsText(given) };
}

/** Longer arguments count as unfinished, because they would be parsed again with every part. */
const MAX_WHOLE_LENGTH = 256 * 1024;

/** Whether arguments are complete. */
export function isWhole(given: string): boolean {
  if (given.length > MAX_WHOLE_LENGTH) return false;
  // Nearly all parts end with another character.
  if (!given.trimEnd().endsWith('}')) return false;
  try {
    JSON.parse(given);
    return true;
  } catch {
    return false;
  }
}

/**
 * What a part adds to a name. Some upstreams split names, some repeat them in every part, or repeat what was sent so far.
 * @param names of the tools on offer, where they are known
 */
export function nameRest(soFar: string, piece: string, names: readonly string[]): string {
  if (soFar === '' || piece === '') return piece;
  const isBegun = (name: string): boolean => names.some((known) => known.startsWith(name));
  if (piece === soFar && names.includes(soFar)) return '';
  if (isBegun(soFar + piece) || !piece.startsWith(soFar)) return piece;
  return names.length === 0 || isBegun(piece) || piece === soFar ? piece.slice(soFar.length) : piece;
}

/** Whether a name may be the beginning of a longer one. */
export function isNamePrefix(name: string, names: readonly string[]): boolean {
  return name !== '' && names.some((known) => known.length > name.length && known.startsWith(name));
}

/**
 * What a part adds to a call's arguments. Some upstreams repeat all arguments at the end, or all arguments so far in every part. An object does
 * not begin again inside itself, except where a value may be.
 * @param again the part says other things again too
 */
export function argumentsRest(soFar: string, piece: string, again: boolean): string {
  if (soFar === '' || piece.length < soFar.length || !piece.startsWith(soFar)) return piece;
  if (!soFar.trimStart().startsWith('{')) return piece;
  const mayStand = /[:,[]\s*$/.test(soFar.slice(-16));
  return mayStand && !again ? piece : piece.slice(soFar.length);
}
