import type { RefusedFields } from '../openai-compatible/optional-fields.js';
import type { KnownFields } from '../predictions/model-fields.js';
import type { UpstreamSettings } from '../upstream-settings.types.js';
import type { HeldOrders } from './held-orders.js';
import type { LiveFetch } from './live-fetch.js';
import type { NativeProvider, SdkProvider } from './native-provider.types.js';
import type { OutboundFetch } from './outbound-fetch.js';

export interface V4MediaOptions {
  /** The configured provider's id. */
  id: string;
  native: NativeProvider;
  secrets: readonly string[];
  /** The fields that the upstream's models refuse. */
  refused: RefusedFields;
  /** Some packages send several requests for one answer. */
  during: OutboundFetch['during'];
  /** Stores orders. */
  held: HeldOrders;
  /** Takes answers as they come. */
  live: LiveFetch;
  timeouts: UpstreamSettings['timeouts'];
  /** How its models take our parameters, from the entries in PROVIDERS_FILE. */
  fields: KnownFields;
  /** Loads the package, then makes a model. */
  load<T>(make: (provider: SdkProvider) => T | undefined): Promise<T>;
}
