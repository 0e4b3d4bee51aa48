import type { GraphQLField } from 'graphql';
import { getNamedType, GraphQLID } from 'graphql';

/** Far longer than any id. */
export const MAX_ID_LENGTH = 255;

type Arguments = Record<string, unknown>;

/**
 * An id longer than 255 characters cannot exist. It is cut here, so that fields do not send it to the database; the cut id is answered like
 * every unknown id, in its field's own order of checks. (`_entities` checks its references itself.)
 */
export function truncateIds({
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
/** One character more than the maximum, without a lone surrogate at its end. */
const cutId = (id: string): string => id.slice(0, MAX_ID_LENGTH + 1).toWellFormed();
