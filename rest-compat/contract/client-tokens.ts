import { BOUND_KINDS } from '../../src/contract/words.js';
import type { JsonSchema, Route } from '../shared/route.types.js';
import { BODY_LIMITS } from '../shared/route.types.js';

const GIVEN: JsonSchema = { not: { type: 'null' } };

const notTogether = (one: string, other: string): JsonSchema => ({
  not: { properties: { [one]: GIVEN, [other]: GIVEN }, required: [one, other] },
});

/** One cap, and one object. */
const RULES: JsonSchema = {
  allOf: [
    notTogether('credits', 'budget_usd'),
    ...BOUND_KINDS.flatMap((kind, at) =>
      BOUND_KINDS.slice(at + 1).map((other) => notTogether(`${kind}_id`, `${other}_id`)),
    ),
  ],
};

/** Credentials for browsers (beyond 14.1). */
export const clientTokenRoutes: Route[] = [
  {
    method: 'POST',
    path: '/client-tokens',
    operationId: 'createClientToken',
    tag: 'Client tokens',
    summary: 'Create a credential for a browser',
    description:
      'The token acts as the key that creates it, for at most an hour, within the given scopes, object and rate window. Only this answer shows it.',
    document: `mutation ($input: CreateClientTokenInput!) {
      body: createClientToken(input: $input) {
        token client_token: clientToken { id scopes expires_at: expiresAt }
      }
    }`,
    body: {
      limitBytes: BODY_LIMITS.small,
      rules: RULES,
      example: { scopes: ['chat'], ttl_seconds: 900, end_user: 'user-17' },
    },
    // The object that the token is bound to.
    mayNotFind: true,
    schemaName: 'ClientTokenWithText',
  },
];
