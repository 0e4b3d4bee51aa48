import type { LightAbortSignal } from '../collections/light-abort-signal.js';

/** Dialects besides chat that an upstream may speak itself (beyond 11.9). */
export const NATIVE_DIALECTS = ['responses', 'messages'] as const;
export type NativeDialect = (typeof NATIVE_DIALECTS)[number];

/** A request in an upstream's own dialect. */
export interface NativeCall {
  /** As it is sent: the upstream's model name and the reserved cap stand in it already, `stream` is set by the provider. */
  body: Record<string, unknown>;
  /** Values of `include` that nobody asked for: they are left out where the upstream refuses them. */
  addedIncludes?: readonly string[];
  /** Headers of the caller that only the upstream understands. */
  headers?: Readonly<Record<string, string>>;
  signal: LightAbortSignal;
}

/** An upstream's whole answer, as text (passed on with single values exchanged) and parsed. */
export interface NativeAnswer {
  text: string;
  parsed: Record<string, unknown>;
}

/** One event of an upstream's stream. */
export interface NativeEvent {
  /** The `event:` line; '' where the upstream leaves it out. */
  name: string;
  /** JSON text, on one line. */
  data: string;
}

/** Events as they come, pulled one at a time; the upstream is paused while nobody pulls. */
export interface NativeEvents {
  /** The next event, or null after the last. @throws UpstreamError */
  next(): Promise<NativeEvent | null>;
  /** Ends the upstream's work; `next` is not called any more. Idempotent. */
  cancel(): void;
}

/** An upstream that speaks a dialect itself. */
export interface DialectProvider {
  /** Whether a model does, by the upstream's name for it; absent: all of its models do. */
  speaks?(modelId: string): boolean;
  /** @throws UpstreamError */
  complete(call: NativeCall): Promise<NativeAnswer>;
  /** The promise resolves when the first event is there. @throws UpstreamError */
  stream(call: NativeCall): Promise<NativeEvents>;
}
