export { createBrowserSessions, organizationOf } from './browser-session.js';
export type { BrowserSessions } from './browser-session.js';
export { createSignInHandler } from './handler.js';
export type { SignInDependencies, SignInHandler } from './handler.js';
export { createOidc } from './oidc/index.js';
