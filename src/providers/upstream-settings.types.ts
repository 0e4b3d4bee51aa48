import type { NativeDialect } from './dialect.types.js';
import type { ModelFields } from './predictions/model-fields.js';
import type { RetryPolicy } from './providers.types.js';
import type { UpstreamTimeouts } from './openai-compatible/transport.js';

/** One upstream of the file, ready to connect to. */
export interface UpstreamSettings {
  id: string;
  /** `openai-compatible`, or the id of a native provider. */
  kind: string;
  baseUrl: string;
  apiKey: string | undefined;
  headers: Record<string, string>;
  timeouts: UpstreamTimeouts;
  retry: RetryPolicy;
  /** Upstream name of a model → how it takes our parameters, where its entry says it. */
  fields: Readonly<Record<string, ModelFields>>;
  /** Further fields of chat requests that its models get. */
  allowedParameters: readonly string[];
  /** Dialects that it speaks besides those of its kind. Default none. */
  dialects?: readonly NativeDialect[];
  /** Makers' tools, by type, that it may be asked to run although they cost money there. Default none. */
  allowedTools?: readonly string[];
  /** Upstream name of a model → fields that it is never sent; under an empty name: all others of the upstream. Default: none. */
  omit?: Readonly<Record<string, readonly string[]>>;
  /** Whether it can read files that are stored here; default false. */
  publicFiles?: boolean;
  /** What AWS signs requests with. */
  aws?: { region: string; accessKeyId: string; secretAccessKey: string; sessionToken?: string } | undefined;
}
