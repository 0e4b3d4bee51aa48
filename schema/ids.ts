import type { GraphQLField } from 'graphql';
import { getNamedType, GraphQLID } from 'graphql';

/** Far longer than any id. */
export const MAX_ID_LENGTH = 255;

type Arguments = Record<string, unknown>;

/**
 * An id longer than 255 characters cannot exist. So that it is not sent to the database by each field that refers to it, it is cut here and then
 * answered like every unknown id, in its field's own order of checks. (`_entities` checks its references itself.)
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
