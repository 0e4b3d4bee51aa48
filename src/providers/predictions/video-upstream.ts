import type { ApiClient } from './api-client.js';
import { followOrder, withRetries } from './operation.js';
import type { OperationLimits, OperationState } from './operation.js';
import { madeVideo } from '../video-calls.js';
import type { VideoCallOptions, VideoCapabilities, VideoModel } from '../video.types.js';

/** The dependencies of a video adapter. */
export interface VideoUpstream {
  api: ApiClient;
  limits: OperationLimits;
  providerId: string;
  modelId: string;
  /** Whether the provider can download files from this installation. */
  publicFiles: boolean;
  /** Values that must never appear in an error message. */
  secrets: readonly string[];
}

/** A call whose signal is there. */
export type VideoCall = VideoCallOptions & { abortSignal: AbortSignal };

/** How a provider's API handles orders of videos. */
export interface VideoOrders {
  /** @throws UpstreamError */
  place(call: VideoCall): Promise<string>;
  /** The value is the video's URL; null if the order's reference is enough to download it. @throws UpstreamError */
  check(reference: string, signal: AbortSignal): Promise<OperationState<string | null>>;
  /** Absent: the API cannot cancel orders. */
  withdraw?(reference: string, signal: AbortSignal): Promise<unknown>;
  /** @throws UpstreamError */
  fetch(made: { reference: string; address: string | null }, signal: AbortSignal): Promise<Uint8Array>;
}

/** The AI SDK's video model over a provider's orders. */
export function videoModel(
  { providerId, modelId, limits }: VideoUpstream,
  capabilities: VideoCapabilities,
  orders: VideoOrders,
): VideoModel {
  const make = async (call: VideoCall): Promise<Uint8Array> => {
    const { abortSignal: signal, onProgress, orders: log } = call;
    const made = await followOrder({
      place: () => orders.place(call),
      async check(reference, within) {
        const state = await orders.check(reference, within);
        return state.done ? { done: true, value: { reference, address: state.value } } : state;
      },
      withdraw: async (reference, within) => await orders.withdraw?.(reference, within),
      limits,
      signal,
      onProgress,
      log,
    });
    return await withRetries(() => orders.fetch(made, signal), { pollMs: limits.pollMs, signal });
  };
  return {
    specificationVersion: 'v4',
    provider: providerId,
    modelId,
    maxVideosPerCall: 1,
    capabilities,
    async doGenerate(options) {
      const abortSignal = options.abortSignal ?? new AbortController().signal;
      return madeVideo(await make({ ...options, abortSignal }), modelId);
    },
    async withdraw(reference, signal) {
      await orders.withdraw?.(reference, signal);
    },
  };
}
