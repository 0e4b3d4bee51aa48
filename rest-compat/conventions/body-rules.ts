import type { BodyRules } from '../../src/http/index.js';

/** Both makers' servers unpack what clients packed, and take JSON that is not declared (beyond 11.4). */
export const FORGIVING: BodyRules = { unpacks: true, undeclared: true };
