import type { ApiClient } from '../predictions/api-client.js';
import type { OperationLimits } from '../predictions/operation.js';
import { madeVideo } from '../video-calls.js';
import type { VideoCallOptions, VideoCapabilities, VideoModel } from '../video.types.js';

/** What an adapter of videos is given. */
export interface VideoUpstream {
  api: ApiClient;
  limits: OperationLimits;
  providerId: string;
  modelId: string;
  /** Values that must never show in an error's message. */
  secrets: readonly string[];
}

/** A call whose signal is there. */
export type VideoCall = VideoCallOptions & { abortSignal: AbortSignal };

/** The specification's model around one function that makes a video. */
export function videoModel(
  { providerId, modelId }: Pick<VideoUpstream, 'providerId' | 'modelId'>,
  capabilities: VideoCapabilities,
  make: (call: VideoCall) => Promise<Uint8Array>,
): VideoModel {
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
  };
}
