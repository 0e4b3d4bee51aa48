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
  /** Further fields of chat requests that are sent to its models. */
  allowedParameters: readonly string[];
  /** Further conventions that it supports besides those of its kind. Default none. */
  dialects?: readonly NativeDialect[];
  /** Provider-executed tools, by type, that are allowed although the upstream charges for them. Default none. */
  allowedTools?: readonly string[];
  /** Upstream name of a model → fields that are never sent to it; the empty name stands for all other models. Default: none. */
  omit?: Readonly<Record<string, readonly string[]>>;
  /** Whether it can download files from this installation; default false. */
  publicFiles?: boolean;
  /** Credentials for AWS request signatures. */
  aws?: { region: string; accessKeyId: string; secretAccessKey: string; sessionToken?: string } | undefined;
}
