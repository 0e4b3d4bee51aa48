import { z } from 'zod';

/** The identity provider that people may sign in at (OpenID Connect). */
export interface OidcConfig {
  /** As the provider spells it, with its last slash or without: it must equal what the provider says of itself. */
  issuer: string;
  clientId: string;
  /** Null: a public client, which proves itself with PKCE alone. */
  clientSecret: string | null;
  /** What people know the provider by; default: the issuer's host. */
  name: string;
}

const MAX_NAME = 60;
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Nobody on the way may answer for the provider; on this machine there is no way. */
function isTrustworthy(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, hostname } = new URL(value);
  return protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname));
}

function isIssuer(value: string): boolean {
  if (!URL.canParse(value)) return true;
  const { username, password } = new URL(value);
  return username === '' && password === '' && !/[?#]|\/\.well-known\//.test(value);
}

/** The variables of the environment, as fields of its schema. */
export const OIDC_FIELDS = {
  OIDC_ISSUER: z
    .string()
    .trim()
    .refine(isTrustworthy, 'must be an https URL (http on a loopback address only)')
    .refine(isIssuer, 'must have no user, query or fragment, and no /.well-known/…')
    .optional(),
  OIDC_CLIENT_ID: z.string().trim().optional(),
  OIDC_CLIENT_SECRET: z.string().optional(),
  OIDC_NAME: z.string().trim().max(MAX_NAME, `must be at most ${MAX_NAME} characters`).optional(),
};

type OidcEnvironment = { [Name in keyof typeof OIDC_FIELDS]?: string | undefined };

/** Settings that are missing although others of the group are set. */
export function oidcFaults(env: OidcEnvironment): string[] {
  if (env.OIDC_ISSUER !== undefined)
    return env.OIDC_CLIENT_ID === undefined ? ['OIDC_ISSUER: needs OIDC_CLIENT_ID with it'] : [];
  const others = ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'OIDC_NAME'] as const;
  return others.filter((name) => env[name] !== undefined).map((name) => `${name}: needs OIDC_ISSUER with it`);
}

/** Null: people sign in with passwords only. */
export function oidcOf(env: OidcEnvironment): OidcConfig | null {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET, OIDC_NAME } = env;
  if (issuer === undefined || clientId === undefined) return null;
  return {
    issuer,
    clientId,
    clientSecret: OIDC_CLIENT_SECRET ?? null,
    name: OIDC_NAME ?? new URL(issuer).host,
  };
}
