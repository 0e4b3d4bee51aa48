import type { LightAbortSignal } from '../collections/light-abort-signal.js';

/** Dialects besides chat that an upstream may speak itself (beyond 11.9). */
export const NATIVE_DIALECTS = ['responses', 'messages'] as const;
export type NativeDialect = (typeof NATIVE_DIALECTS)[number];

/** A request in an upstream's own dialect. */
export interface NativeCall {
  /** The body as it is sent. It already has the upstream's model name and the reserved maximum of tokens; the provider sets `stream`. */
  body: Record<string, unknown>;
  /** Values of `include` that Penstock added: they are left out if the upstream refuses them. */
  addedIncludes?: readonly string[];
  /** Headers of the caller that only the upstream understands. */
  headers?: Readonly<Record<string, string>>;
  signal: LightAbortSignal;
}

/** An upstream's whole answer. */
export interface NativeAnswer {
  parsed: Record<string, unknown>;
}

/** One event of an upstream's stream. */
export interface NativeEvent {
  /** The `event:` line; '' if the upstream sends none. */
  name: string;
  /** JSON text, on one line. */
  data: string;
}

/** Events as they arrive, read one at a time; while the reader does not read, the upstream is paused (backpressure). */
export interface NativeEvents {
  /** The next event, or null after the last. @throws UpstreamError */
  next(): Promise<NativeEvent | null>;
  /** Ends the upstream's work; `next` is not called any more. Idempotent. */
  cancel(): void;
}

/** An upstream that speaks a dialect itself. */
export interface DialectProvider {
  /** Whether a model supports it, by the upstream's name of the model; absent: all models do. */
  speaks?(modelId: string): boolean;
  /** @throws UpstreamError */
  complete(call: NativeCall): Promise<NativeAnswer>;
  /** The promise resolves when the first event is there. @throws UpstreamError */
  stream(call: NativeCall): Promise<NativeEvents>;
  /** Absent: the dialect has none at this upstream. */
  background?: BackgroundAnswers;
}

/** Answers that an upstream goes on with by itself, and keeps, where their request says `background` (beyond 12.5). */
export interface BackgroundAnswers {
  /**
   * The events of an answer once more, by another connection.
   * @param after the upstream's number of the last event that is known; null: all events
   * @throws UpstreamError
   */
  resume(id: string, options: { after: number | null; signal: LightAbortSignal }): Promise<NativeEvents>;
  /** Ends the upstream's work. @throws UpstreamError */
  cancel(id: string, signal: AbortSignal): Promise<void>;
  /** Removes what the upstream keeps. @throws UpstreamError */
  forget(id: string, signal: AbortSignal): Promise<void>;
}
