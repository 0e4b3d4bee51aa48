import Negotiator from 'negotiator';

const JSON_TYPE = 'application/json; charset=utf-8';
const STRICT_TYPE = 'application/graphql-response+json; charset=utf-8';

/**
 * The type of an answer, known before anything is done: who accepts neither of the two gets JSON, as from REST, since a refusal would
 * throw work away that was done and charged.
 */
export function mediaTypeOf(accept: string | undefined): string {
  return new Negotiator({ headers: { accept } }).mediaType([JSON_TYPE, STRICT_TYPE]) ?? JSON_TYPE;
}

/** Whether faults of a request show in the status (GraphQL-over-HTTP draft). */
export const isStrict = (mediaType: string): boolean => mediaType === STRICT_TYPE;
