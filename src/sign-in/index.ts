export { createBrowserSessions, organizationOf } from './browser-session.js';
export type { BrowserSessions } from './browser-session.js';
export { createSignInHandler } from './handler.js';
export type { IdentityProvider, SignInDependencies, SignInHandler } from './handler.js';
