import type { UpstreamSettings } from '../upstream-settings.types.js';
import type { SdkPackage, SdkProvider } from './native-provider.types.js';
import { detectAnswerForm } from './answer-forms.js';

/** Loads the package's provider at the first call and keeps it. */
export function createSdkLoader(
  { load }: SdkPackage,
  upstream: UpstreamSettings,
  fetch: typeof globalThis.fetch,
): () => Promise<SdkProvider> {
  let loaded: Promise<SdkProvider> | null = null;
  const settings = {
    apiKey: upstream.apiKey ?? '',
    baseURL: upstream.baseUrl,
    headers: upstream.headers,
    fetch: detectAnswerForm(fetch),
  };
  return () => (loaded ??= load(settings, upstream));
}
