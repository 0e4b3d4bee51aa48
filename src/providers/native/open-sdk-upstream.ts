import type { Egress } from '../../egress/index.js';
import type { Provider } from '../providers.types.js';
import type { UpstreamSettings } from '../upstream-settings.types.js';
import { withFunctions } from '../legacy-functions.js';
import { createProviderApi, createProviderMedia, keyHeaderOf } from '../predictions/provider-media.js';
import { createHeldOrders } from './held-orders.js';
import type { NativeKind } from './kinds.js';
import { createOutboundFetch } from './outbound-fetch.js';
import { BUILT_IN, createSdkLoader } from './sdk-packages.js';
import type { SdkProvider } from './sdk-packages.js';
import { createV4Chat } from './v4-chat.js';
import { createV4Media } from './v4-media.js';

export interface SdkUpstream extends Provider {
  retire(): Promise<void>;
}

type Capability = 'chat' | 'embedding' | 'image' | 'speech' | 'transcription';

/** What each package can do of what we ask for. */
const CAPABILITIES: Partial<Record<NativeKind, readonly Capability[]>> = {
  anthropic: ['chat'],
  google: ['chat', 'embedding', 'image', 'speech'],
  cohere: ['chat', 'embedding'],
  'amazon-bedrock': ['chat', 'embedding', 'image'],
  replicate: ['image'],
  fal: ['image', 'speech', 'transcription'],
  luma: ['image'],
  elevenlabs: ['speech', 'transcription'],
  deepgram: ['speech', 'transcription'],
  assemblyai: ['transcription'],
  togetherai: ['image'],
  fireworks: ['image'],
  xai: ['image'],
};

/** Kinds of the common convention whose images have ways of their own. */
export const OWN_IMAGES: ReadonlySet<NativeKind> = new Set(['togetherai', 'fireworks', 'xai']);

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
  upstream: UpstreamSettings & { kind: NativeKind },
  {
    egress,
    secrets,
    keys,
  }: { egress: Egress | undefined; secrets: readonly string[]; keys: readonly string[] },
): SdkUpstream {
  const { id, kind, retry } = upstream;
  const headers = keyHeaderOf(upstream);
  const outbound = createOutboundFetch({ upstream, egress, builtIn: BUILT_IN[kind] ?? [], headers });
  const own = { upstream, outbound, headers, secrets };
  const held = createHeldOrders({
    kind,
    keys,
    secrets,
    limits: upstream.timeouts,
    fetch: outbound.fetch,
    api: createProviderApi(own),
  });
  const load = createSdkLoader(upstream, held.fetch);
  const able = new Set(CAPABILITIES[kind]);
  const media = createV4Media({
    id,
    kind,
    secrets,
    during: outbound.during,
    held,
    timeouts: upstream.timeouts,
    fields: upstream.fields,
    load: (make) => modelOf(load, make),
  });
  const chat = createV4Chat({
    kind,
    secrets,
    egress,
    model: (modelId) => modelOf(load, (provider) => provider.languageModel?.(modelId)),
  });
  return {
    id,
    retry,
    ...(able.has('chat') ? { chat: withFunctions(chat) } : {}),
    ...(able.has('embedding') ? { embedding: media.embedding } : {}),
    ...(able.has('image') ? { image: media.image } : {}),
    ...(able.has('speech') ? { speech: media.speech } : {}),
    ...(able.has('transcription') ? { transcription: media.transcription } : {}),
    ...createProviderMedia(own),
    close: () => outbound.close(),
    retire: () => outbound.retire(),
  };
}
