const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** One name of the contract in GraphQL's spelling. */
export const camel = (name: string): string =>
  name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The object with its own keys (and those of nested objects and lists) in camelCase. Only for shapes of the contract, never for callers' JSON. */
export function camelNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelNames);
  if (!isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [camel(name), camelNames(item)]));
}

/** An input object's first level in the contract's spelling, without absent fields. Values stay unchanged. */
export function contractNames(input: object): Record<string, unknown> {
  const entries = Object.entries(input).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries.map(([name, value]) => [snake(name), value]));
}
