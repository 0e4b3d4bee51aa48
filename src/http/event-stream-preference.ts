/**
 * How much a client wants Server-Sent Events: `preferred` to JSON, `accepted` beside it (some clients say so with every operation and mean their
 * subscriptions), or `refused`.
 */
export type EventStreamPreference = 'preferred' | 'accepted' | 'refused';

const STREAM = ['text/event-stream'];
const JSON_TYPES = ['application/json', 'application/graphql-response+json'];

/** Reads an Accept header. Wildcards count for neither: only who names event streams can read them. */
export function eventStreamPreference(accept: string | undefined): EventStreamPreference {
  const stream = weightOf(accept, STREAM);
  if (stream === 0) return 'refused';
  return stream > weightOf(accept, JSON_TYPES) ? 'preferred' : 'accepted';
}

/** The greatest weight that one of the types is given, 0 where none is named. */
function weightOf(accept = '', types: string[]): number {
  const weights = accept.split(',').map((part) => {
    const [type = '', ...parameters] = part.split(';').map((word) => word.trim().toLowerCase());
    if (!types.includes(type)) return 0;
    const weight = Number(parameters.find((word) => word.startsWith('q='))?.slice(2) ?? 1);
    return Number.isNaN(weight) ? 1 : weight;
  });
  return Math.max(...weights);
}
