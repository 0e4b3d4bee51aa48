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
  const load = createSdkLoader(native.package, upstream, held.fetch);
  const able = new Set(native.package.does);
  const media = createV4Media({
    id,
    native,
    secrets,
    refused,
    during: outbound.during,
    held,
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
  // Of one of the common convention they are opened beside its chat.
  const spoken = native.convention ? [] : (native.dialects ?? []);
  const door = native.dialectDoor?.(upstream);
  const transport =
    spoken.length === 0
      ? null
      : new Transport({
          baseUrl: upstream.baseUrl,
          headers: { ...(door === undefined ? headers : {}), ...upstream.headers },
          timeouts: upstream.timeouts,
          secrets,
        });
  return {
    id,
    retry,
    ...(transport === null ? {} : { dialects: dialectsOf({ transport, refused, door }, spoken) }),
    allowedTools: upstream.allowedTools ?? [],
    ...(able.has('chat') ? { chat: withFunctions(chat) } : {}),
    ...(able.has('embedding') ? { embedding: media.embedding } : {}),
    ...(able.has('image') ? { image: media.image } : {}),
    ...(able.has('tts') ? { tts: media.tts } : {}),
    ...(able.has('stt') ? { stt: media.stt } : {}),
    ...createProviderMedia(own),
    close: async () => void (await Promise.all([outbound.close(), transport?.close()])),
    retire: async () => void (await Promise.all([outbound.retire(), transport?.retire()])),
  };
}
