import type { BodyRules } from '../../src/http/index.js';

/** Like both makers' servers, /v1 accepts compressed bodies, and JSON without a declared type (beyond 11.4). */
export const FORGIVING: BodyRules = { unpacks: true, undeclared: true };
