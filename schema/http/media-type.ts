import Negotiator from 'negotiator';

const JSON_TYPE = 'application/json; charset=utf-8';
const STRICT_TYPE = 'application/graphql-response+json; charset=utf-8';

/**
 * The type of an answer, decided before any work. A client that accepts neither type gets JSON, as from REST, because a refusal would
 * discard work that was done and charged.
 */
export function mediaTypeOf(accept: string | undefined): string {
  return new Negotiator({ headers: { accept } }).mediaType([JSON_TYPE, STRICT_TYPE]) ?? JSON_TYPE;
}

/** Whether errors of a request set the HTTP status (GraphQL-over-HTTP draft). */
export const isStrict = (mediaType: string): boolean => mediaType === STRICT_TYPE;
