import type { Convention, Face } from '../shared/convention.types.js';
import { routes } from './index.js';

/** The contract's own words (contract 7.1). */
export const CONTRACT: Convention = {
  name: 'contract',
  errorBody({ message, code, details: { param, remaining, retryAfter } }) {
    return { error: message, code, param, remaining, retryAfter };
  },
  errorEvent: ({ message, code }) => `data: ${JSON.stringify({ error: message, code })}\n\n`,
};

/** /api/v1. */
export const contractFace: Face = {
  path: '/api/v1',
  routes,
  conventionOf: () => CONTRACT,
  keyPrefix: '',
  bareModelNames: false,
};
