import type {
  Experimental_VideoModelV4 as VideoModelV4,
  Experimental_VideoModelV4CallOptions as VideoModelV4CallOptions,
  Experimental_VideoModelV4Result as VideoModelV4Result,
} from '@ai-sdk/provider';
import type { OrderLog, Ordering } from './order.types.js';

/** Modes of contract 4.4. */
export const VIDEO_MODES = ['text_to_video', 'image_to_video', 'video_to_video'] as const;
export type VideoMode = (typeof VIDEO_MODES)[number];

/**
 * A video call with more options than the AI SDK's specification: `image` is the source image, `inputReferences` holds the source video.
 * `providerOptions.penstock` holds `negative_prompt`, `loop` and `prompt_optimizer`.
 */
export type VideoCallOptions = VideoModelV4CallOptions & {
  /** The signed address of the source image, for upstreams that download it themselves. */
  sourceUrl?: string;
  /** 0 to 100, from models that report progress. */
  onProgress?: (percent: number) => void;
  /** Stores orders, for models whose work is ordered and polled. */
  orders?: OrderLog;
};

/** What a model supports in one mode. Lists are in the model's own order; null: every value of the contract. */
export interface VideoSettings {
  /** Seconds. */
  durations: readonly number[] | null;
  resolutions: readonly string[] | null;
  aspectRatios: readonly string[] | null;
  /** Frames a second. */
  fps: readonly number[] | null;
  seed: boolean;
  negativePrompt: boolean;
  promptOptimizer: boolean;
  loop: boolean;
}

/** Only the contract's defaults: for a model without these parameters. */
export const PLAIN_SETTINGS: VideoSettings = {
  durations: [5],
  resolutions: ['720p'],
  aspectRatios: ['16:9'],
  fps: [30],
  seed: false,
  negativePrompt: false,
  promptOptimizer: false,
  loop: false,
};

/** What a video model supports; a request for anything else is refused before it costs anything. */
export interface VideoCapabilities {
  modes: readonly VideoMode[];
  settings(mode: VideoMode): VideoSettings;
  /** Whether this installation itself must be able to decode a source video. */
  decodesHere: boolean;
}

export type VideoModel = Omit<VideoModelV4, 'doGenerate'> &
  Ordering & {
    doGenerate(options: VideoCallOptions): PromiseLike<VideoModelV4Result>;
    capabilities: VideoCapabilities;
  };
