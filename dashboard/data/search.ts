/** The parameters after the `?` of an address. Each name occurs once. */
export type Search = Record<string, string>;

/** An address with an invalid parameter. The message is shown in place of the view. */
export class BadAddress extends Error {}

/** One of the allowed words, or undefined if the address has none. @throws BadAddress for any other word */
export function wordIn<Word extends string>(
  search: Record<string, unknown>,
  name: string,
  words: readonly Word[],
): Word | undefined {
  const given = search[name];
  if (given === undefined || given === '') return undefined;
  const word = words.find((one) => one === given);
  if (word === undefined)
    throw new BadAddress(`\`${name}\` cannot be \`${String(given)}\`: it is one of ${words.join(', ')}`);
  return word;
}

/** A free text, or undefined. */
export function textIn(search: Record<string, unknown>, name: string): string | undefined {
  const given = search[name];
  return typeof given === 'string' && given !== '' ? given : undefined;
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** A day such as 2026-03-01, or undefined. @throws BadAddress if it is not a day */
export function dayIn(search: Record<string, unknown>, name: string): string | undefined {
  const given = textIn(search, name);
  if (given === undefined) return undefined;
  if (!DAY.test(given) || Number.isNaN(Date.parse(given)))
    throw new BadAddress(`\`${name}\` cannot be \`${given}\`: it is a day such as 2026-03-01`);
  return given;
}

/** Parses the search part of an address for the router. */
export const readSearch = (text: string): Search => Object.fromEntries(new URLSearchParams(text));

/** Writes the parameters that are set, in the given order. */
export function writeSearch(search: Record<string, unknown>): string {
  const set = Object.entries(search).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(set.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}
