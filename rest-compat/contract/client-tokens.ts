import type { Route } from '../shared/route.types.js';
import { BODY_LIMITS } from '../shared/route.types.js';

/** Credentials for browsers (beyond 14.1). */
export const clientTokenRoutes: Route[] = [
  {
    method: 'POST',
    path: '/client-tokens',
    operationId: 'createClientToken',
    tag: 'Client tokens',
    summary: 'Make a credential that a browser may hold',
    description:
      'The token acts as the key that makes it, for an hour at most, within the scopes, the object and the window that are named here. Only this answer shows it.',
    document: `mutation ($input: CreateClientTokenInput!) {
      body: createClientToken(input: $input) {
        token client_token: clientToken { id scopes expires_at: expiresAt }
      }
    }`,
    body: {
      limitBytes: BODY_LIMITS.small,
      example: { scopes: ['chat'], ttl_seconds: 900, end_user: 'user-17' },
    },
    schemaName: 'ClientTokenWithText',
  },
];
