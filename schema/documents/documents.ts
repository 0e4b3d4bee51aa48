import { LRUCache } from 'lru-cache';
import type { DocumentNode, GraphQLSchema } from 'graphql';
import { GraphQLError, parse, specifiedRules, validate, visit } from 'graphql';
import { checkLimits, limitError, LIMITS } from './limits.js';
import { isEventSubscription } from './event-subscription.js';
import { SubscriptionRootRule } from './subscription-root.rule.js';
import { faultsOfVariables, tooManyObjects, undeclaredVariable } from './variables.js';

/** An unchecked GraphQL request. */
export interface DocumentRequest {
  query: string;
  operationName?: string | null | undefined;
  variables?: Record<string, unknown> | null | undefined;
}

/** `errors` refuse the whole request. The error of a limit has `extensions.refused` and is HTTP 400, whatever the client accepts. */
export type Prepared = { document: DocumentNode } | { errors: readonly GraphQLError[] };

export interface Documents {
  /** Parse, limits, validation and variables: the checks of every operation, over HTTP, WebSocket and Server-Sent Events. */
  prepare(request: DocumentRequest): Prepared;
  /** Whether a request only subscribes to events and starts no work; then it counts as an opened stream. */
  watches(request: DocumentRequest): boolean;
}

/** The number of documents in the cache, and the longest text that is cached. */
const KEPT = 1000;
const KEPT_LENGTH = 20_000;

/** Introspection needs a key like any other query, so that a client without a key learns nothing about the schema. */
export function createDocuments(schema: GraphQLSchema): Documents {
  const rules = [...specifiedRules, SubscriptionRootRule];
  const kept = new LRUCache<string, Prepared>({ max: KEPT });

  /** The part of the work that depends on the text alone. */
  function read(query: string): Prepared {
    const parsed = parseWithin(query);
    if ('errors' in parsed) return parsed;
    // The limits come before validation, whose time grows with the square of some documents.
    const refused = checkLimits(schema, parsed.document, null);
    if (refused) return { errors: [refused] };
    const errors = validate(schema, parsed.document, rules, { maxErrors: 20 });
    return errors.length > 0 ? { errors } : parsed;
  }

  function find(query: string): Prepared {
    const found = kept.get(query);
    if (found) return found;
    const fresh = read(query);
    if (query.length > KEPT_LENGTH) return fresh;
    kept.set(query, fresh);
    return fresh;
  }

  return {
    prepare(request) {
      const prepared = find(request.query);
      if ('errors' in prepared) return prepared;
      const refused = checkLimits(schema, prepared.document, request.variables ?? {});
      if (refused) return { errors: [refused] };
      const undeclared = undeclaredVariable(prepared.document, request);
      if (undeclared) return { errors: [undeclared] };
      const tooMany = tooManyObjects(schema, prepared.document, request);
      if (tooMany) return { errors: [tooMany] };
      const errors = faultsOfVariables(schema, prepared.document, request);
      return errors.length > 0 ? { errors } : prepared;
    },
    watches({ query, operationName }) {
      if (!query.includes('subscription')) return false;
      const prepared = find(query);
      return 'document' in prepared && isEventSubscription(schema, prepared.document, operationName ?? null);
    },
  };
}

function parseWithin(query: string): Prepared {
  if (query.length > LIMITS.length)
    return { errors: [limitError(`Document has more than ${LIMITS.length} characters`)] };
  if (hasTooManyLines(query)) return { errors: [limitError(`Document has more than ${LIMITS.lines} lines`)] };
  let document: DocumentNode;
  try {
    document = parse(query, { maxTokens: LIMITS.tokens });
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
    if (!error.message.includes('Parsing aborted')) return { errors: [error] };
    return { errors: [limitError(`Document contains more than ${LIMITS.tokens} tokens`)] };
  }
  const refused = checkSyntax(document);
  return refused ? { errors: [refused] } : { document };
}

/** The location of each error is found by counting the lines before it. */
function hasTooManyLines(query: string): boolean {
  let lines = 1;
  const lineEnd = /\r\n|[\n\r]/g;
  while (lines <= LIMITS.lines && lineEnd.test(query)) lines++;
  return lines > LIMITS.lines;
}

/** Directives by number, names by length, and texts that PostgreSQL cannot store. */
function checkSyntax(document: DocumentNode): GraphQLError | null {
  let directives = 0;
  let longest = 0;
  let nul = false;
  visit(document, {
    Directive() {
      directives++;
    },
    Name({ value }) {
      longest = Math.max(longest, value.length);
    },
    StringValue(node) {
      nul ||= node.value.includes('\0');
    },
  });
  if (directives > LIMITS.directives)
    return limitError(`Document holds more than ${LIMITS.directives} directives`);
  if (longest > LIMITS.nameLength) return limitError(`Names have at most ${LIMITS.nameLength} characters`);
  return nul ? limitError('Strings must not contain \\u0000 or lone surrogates') : null;
}
