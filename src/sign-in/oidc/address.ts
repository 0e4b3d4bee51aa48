import { fetchUserInfo } from 'openid-client';
import type { authorizationCodeGrant, Configuration } from 'openid-client';
import { ApiError } from '../../contract/errors.js';

type Tokens = Awaited<ReturnType<typeof authorizationCodeGrant>>;

interface Claims {
  readonly [name: string]: unknown;
}

const MAX_ADDRESS = 254;
const ADDRESS = /^[^\s@\p{C}]+@[^\s@\p{C}]+$/u;
/** Letters whose lower case has an ASCII one in it (Kelvin's K, the dotted İ): they would make one address of two. */
const FOLDING = /[\u212A\u0130]/;

/** Both claims of one source: a mark of one says nothing about an address of another. */
const isComplete = ({ email, email_verified }: Claims): boolean =>
  email !== undefined && email_verified !== undefined;

/** An ID token need not name the address, although `email` was asked for. */
async function claimsOf(client: Configuration, tokens: Tokens): Promise<Claims> {
  const claims = tokens.claims();
  if (claims === undefined) return {};
  if (isComplete(claims) || client.serverMetadata().userinfo_endpoint === undefined) return claims;
  const more = await fetchUserInfo(client, tokens.access_token, claims.sub);
  return more.email === undefined ? claims : more;
}

/**
 * @param tokens with an ID token that was checked
 * @returns the verified address, lower case
 * @throws ApiError forbidden: none, not verified; errors of the library
 */
export async function addressOf(client: Configuration, tokens: Tokens): Promise<string> {
  const { email, email_verified: mark } = await claimsOf(client, tokens);
  const address = typeof email === 'string' ? email.trim() : '';
  if (address.length > MAX_ADDRESS || !ADDRESS.test(address) || FOLDING.test(address))
    throw new ApiError('forbidden', 'The identity provider gives no email address');
  // Some providers write all claims of an address as texts.
  if (mark !== true && mark !== 'true')
    throw new ApiError('forbidden', 'The identity provider has not verified this address');
  return address.toLowerCase();
}
