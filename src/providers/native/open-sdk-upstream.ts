import type { Egress } from '../../egress/index.js';
import type { Provider } from '../providers.types.js';
import type { UpstreamSettings } from '../upstream-settings.types.js';
import { dialectsOf } from '../openai-compatible/dialect-upstream.js';
import type { RefusedFields } from '../openai-compatible/optional-fields.js';
import { Transport } from '../openai-compatible/transport.js';
import { withFunctions } from '../legacy-functions.js';
import { createProviderApi, createProviderMedia, keyHeaderOf } from '../predictions/provider-media.js';
import { createHeldOrders } from './held-orders.js';
import type { NativeProvider, SdkPackage, SdkProvider } from './native-provider.types.js';
import { createLiveFetch } from './live-fetch.js';
import { createOutboundFetch } from './outbound-fetch.js';
import { createSdkLoader } from './sdk-loader.js';
import { createV4Chat } from './v4-chat.js';
import { createV4Media } from './v4-media.js';

export interface SdkUpstream extends Provider {
  retire(): Promise<void>;
}

/** The model that a package makes of a kind. @throws where the package has none */
async function modelOf<T>(
  load: () => Promise<SdkProvider>,
  make: (provider: SdkProvider) => T | undefined,
): Promise<T> {
  const model = make(await load());
  if (model === undefined) throw new Error('The package has no such models');
  return model;
}

/** Dialects that a provider speaks itself, over connections of their own; null: it speaks none. */
function openDialects(
  upstream: UpstreamSettings,
  native: NativeProvider,
  { secrets, refused }: { secrets: readonly string[]; refused: RefusedFields },
) {
  // Of one of the common convention they are opened beside its chat.
  const names = native.convention ? [] : (native.dialects ?? []);
  if (names.length === 0) return null;
  const connection = native.dialectConnection?.(upstream);
  const key = connection === undefined ? keyHeaderOf(upstream, native) : {};
  const { baseUrl, headers, timeouts } = upstream;
  const transport = new Transport({ baseUrl, headers: { ...key, ...headers }, timeouts, secrets });
  return { transport, spoken: dialectsOf({ transport, refused, connection }, names) };
}

/** What of all that is made a package can do. */
function doneOf({ does }: SdkPackage, made: Pick<Provider, SdkPackage['does'][number]>): Partial<Provider> {
  return Object.fromEntries(does.map((name) => [name, made[name]] as const));
}

/** An upstream over its provider package, which is loaded at the first call. */
export function openSdkUpstream(
  upstream: UpstreamSettings,
  native: NativeProvider & { package: SdkPackage },
  {
    egress,
    secrets,
    keys,
    refused,
  }: {
    egress: Egress | undefined;
    secrets: readonly string[];
    keys: readonly string[];
    refused: RefusedFields;
  },
): SdkUpstream {
  const { id, retry } = upstream;
  const headers = keyHeaderOf(upstream, native);
  const outbound = createOutboundFetch({ upstream, native, egress, headers });
  const own = { upstream, native, outbound, headers, secrets };
  const held = createHeldOrders({
    ordered: native.orders,
    keys,
    secrets,
    limits: upstream.timeouts,
    fetch: outbound.fetch,
    api: createProviderApi(own),
  });
  const live = createLiveFetch(held.fetch, native.tts?.livePath);
  const load = createSdkLoader(native.package, upstream, live.fetch);
  const media = createV4Media({
    id,
    native,
    secrets,
    refused,
    during: outbound.during,
    held,
    live,
    timeouts: upstream.timeouts,
    fields: upstream.fields,
    load: (make) => modelOf(load, make),
  });
  const chat = createV4Chat({
    native,
    secrets,
    refused,
    egress,
    model: (modelId) => modelOf(load, (provider) => provider.languageModel?.(modelId)),
  });
  const dialects = openDialects(upstream, native, { secrets, refused });
  return {
    id,
    retry,
    ...(dialects === null ? {} : { dialects: dialects.spoken }),
    allowedTools: upstream.allowedTools ?? [],
    ...doneOf(native.package, { ...media, chat: withFunctions(chat) }),
    ...createProviderMedia(own),
    close: async () => void (await Promise.all([outbound.close(), dialects?.transport.close()])),
    retire: async () => void (await Promise.all([outbound.retire(), dialects?.transport.retire()])),
  };
}
