/**
 * Whether a client's Accept header ranks Server-Sent Events above JSON (`preferred`), lists both (`accepted`; some clients send that with every
 * operation and mean only their subscriptions), or does not name them (`refused`).
 */
export type EventStreamPreference = 'preferred' | 'accepted' | 'refused';

const STREAM = ['text/event-stream'];
const JSON_TYPES = ['application/json', 'application/graphql-response+json'];

/** Reads an Accept header. Wildcards are ignored: a client that can read event streams names `text/event-stream`. */
export function eventStreamPreference(accept: string | undefined): EventStreamPreference {
  const stream = weightOf(accept, STREAM);
  if (stream === 0) return 'refused';
  return stream > weightOf(accept, JSON_TYPES) ? 'preferred' : 'accepted';
}

/** The greatest quality value (`q`) of the given types; 0 where the header names none of them. */
function weightOf(accept = '', types: string[]): number {
  const weights = accept.split(',').map((part) => {
    const [type = '', ...parameters] = part.split(';').map((word) => word.trim().toLowerCase());
    if (!types.includes(type)) return 0;
    const weight = Number(parameters.find((word) => word.startsWith('q='))?.slice(2) ?? 1);
    return Number.isNaN(weight) ? 1 : weight;
  });
  return Math.max(...weights);
}
