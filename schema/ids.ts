import type { GraphQLField } from 'graphql';
import { getNamedType, GraphQLID } from 'graphql';

/** Far longer than any id. */
export const MAX_ID_LENGTH = 255;

type Arguments = Record<string, unknown>;

/**
 * What is longer than any id is none, and need not be carried to the database to learn it, once for each field that refers to it: it is
 * cut, and answered as every unknown id, in its field's own order of checks. (What `_entities` refers to is looked at there.)
 */
export function cutIds({
  args,
}: Pick<GraphQLField<unknown, unknown>, 'args'>): (given: Arguments) => Arguments {
  const names = args.filter(({ type }) => getNamedType(type) === GraphQLID).map(({ name }) => name);
  return (given) => {
    const long = names.filter((name) => isTooLong(given[name]));
    return long.length === 0
      ? given
      : { ...given, ...Object.fromEntries(long.map((name) => [name, cutId(given[name] as string)])) };
  };
}

const isTooLong = (id: unknown): boolean => typeof id === 'string' && id.length > MAX_ID_LENGTH;
/** One more than there may be, and no lone surrogate at its end. */
const cutId = (id: string): string => id.slice(0, MAX_ID_LENGTH + 1).toWellFormed();
