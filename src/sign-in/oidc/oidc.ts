import { authorizationCodeGrant, buildAuthorizationUrl, calculatePKCECodeChallenge } from 'openid-client';
import { randomNonce, randomPKCECodeVerifier, randomState } from 'openid-client';
import type { Logger } from 'pino';
import type { Config } from '../../config/index.js';
import { addressOf } from './address.js';
import { faultsOf } from './faults.js';
import { createProvider } from './provider.js';
import { createStateSeal } from './state.js';

/** Signing in at the operator's identity provider: authorization code flow with PKCE (S256), state and nonce. */
export interface Oidc {
  /** What people know the provider by. */
  name: string;
  /**
   * Where the browser goes, and the state that it brings back: sealed, at most 600 characters that a cookie's value may have, and refused when it
   * comes back after 10 minutes.
   * @throws ApiError unavailable
   */
  begin(): Promise<{ location: string; state: string }>;
  /**
   * Redeems the code of a callback.
   * @param url the callback as it was called; only its query counts
   * @param state what {@link Oidc.begin} made, as the browser brought it back; forget it then, it is of no further use
   * @returns the verified address, lower case
   * @throws ApiError forbidden, unauthorized or unavailable, with a message for people in which no text of the provider stands
   */
  finish(url: URL, state: string | undefined): Promise<string>;
  /** Ends its connections. */
  close(): Promise<void>;
}

/** What {@link createOidc} is made of. */
export interface OidcOptions {
  config: Pick<Config, 'oidc'> & { http: Pick<Config['http'], 'publicUrl'> };
  /** The installation's signing secrets: the current one seals, both open. */
  signing: { current: string; previous: string | null };
  logger: Logger;
}

const SCOPE = 'openid email profile';

/** The provider is first asked when somebody signs in: no start waits for it. @returns null where none is configured */
export function createOidc({ config, signing, logger }: OidcOptions): Oidc | null {
  const { oidc } = config;
  if (oidc === null) return null;
  const provider = createProvider(oidc);
  const seal = createStateSeal(signing);
  const faults = faultsOf(logger);
  // Read at each call: a port that the system chose is known later only.
  const callback = () => `${config.http.publicUrl}/auth/oidc/callback`;
  const discovered = () => provider.discover().catch(faults.ofSettings);
  return {
    name: oidc.name,
    async begin() {
      const client = await discovered();
      const attempt = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() };
      const parameters = {
        redirect_uri: callback(),
        scope: SCOPE,
        code_challenge: await calculatePKCECodeChallenge(attempt.verifier),
        code_challenge_method: 'S256',
        state: attempt.state,
        nonce: attempt.nonce,
      };
      return { location: buildAuthorizationUrl(client, parameters).href, state: seal.seal(attempt) };
    },
    async finish(url, sealed) {
      const attempt = seal.open(sealed, url.searchParams.get('state'));
      const client = await discovered();
      // The address that the provider knows: a proxy may have changed the one that was called.
      const called = new URL(callback());
      called.search = url.search;
      const checks = {
        pkceCodeVerifier: attempt.verifier,
        expectedState: attempt.state,
        expectedNonce: attempt.nonce,
        idTokenExpected: true,
      };
      try {
        return await addressOf(client, await authorizationCodeGrant(client, called, checks));
      } catch (error) {
        return faults.ofAnswer(error);
      }
    },
    close: () => provider.close(),
  };
}
