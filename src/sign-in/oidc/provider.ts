import {
  allowInsecureRequests,
  ClientSecretBasic,
  ClientSecretPost,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  None,
} from 'openid-client';
import type { ClientAuth, Configuration } from 'openid-client';
import type { Config } from '../../config/index.js';
import { createOperatorFetch } from '../../egress/index.js';

/** For each of the requests of a sign-in (discovery, token, keys, userinfo), its body included. */
const TIMEOUT_SECONDS = 10;

/** What an identity provider says of itself, asked for once it is needed. */
export interface Provider {
  /** Asked once for all who wait, and kept; asked again after a failure. */
  discover(): Promise<Configuration>;
  /** Ends its connections. */
  close(): Promise<void>;
}

/** Basic unless the provider knows only the other: it is what a client is registered with where nothing is said. */
function authenticationBy(secret: string | null): ClientAuth {
  if (secret === null) return None();
  const [basic, post] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (server, ...request) => {
    const methods = server.token_endpoint_auth_methods_supported ?? [];
    const onlyPost = methods.includes('client_secret_post') && !methods.includes('client_secret_basic');
    return (onlyPost ? post : basic)(server, ...request);
  };
}

/**
 * ID tokens come straight from the token endpoint, so that the library leaves it to TLS who made them; here their signatures are checked
 * too, with the provider's published keys, which the library fetches again when an unknown one is used.
 */
export function createProvider({ issuer, clientId, clientSecret }: NonNullable<Config['oidc']>): Provider {
  const outbound = createOperatorFetch();
  const execute = [enableNonRepudiationChecks];
  // The configuration takes such an issuer on a loopback address only.
  if (issuer.startsWith('http:')) execute.push(allowInsecureRequests);
  let requested: Promise<Configuration> | null = null;
  const ask = (): Promise<Configuration> =>
    discovery(new URL(issuer), clientId, undefined, authenticationBy(clientSecret), {
      execute,
      timeout: TIMEOUT_SECONDS,
      [customFetch]: (url, init) => outbound.fetch(url, init),
    });
  return {
    discover() {
      requested ??= ask().catch((error: unknown) => {
        requested = null;
        throw error;
      });
      return requested;
    },
    close: () => outbound.close(),
  };
}
