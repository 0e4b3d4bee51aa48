export { createOidc } from './oidc.js';
export type { Oidc, OidcOptions } from './oidc.js';
