import type {
  Experimental_VideoModelV4 as VideoModelV4,
  Experimental_VideoModelV4CallOptions as VideoModelV4CallOptions,
  Experimental_VideoModelV4Result as VideoModelV4Result,
} from '@ai-sdk/provider';

/** Modes of contract 4.4. */
export const VIDEO_MODES = ['text_to_video', 'image_to_video', 'video_to_video'] as const;
export type VideoMode = (typeof VIDEO_MODES)[number];

/**
 * A video call beyond the specification's words: `image` is the source image, `inputReferences` holds the source video.
 * `providerOptions.penstock` holds `negative_prompt`, `loop` and `prompt_optimizer`.
 */
export type VideoCallOptions = VideoModelV4CallOptions & {
  /** 0 to 100, from models that know it. */
  onProgress?: (percent: number) => void;
};

/** What a video model can do; a request for more is refused before it costs anything. */
export interface VideoCapabilities {
  modes: readonly VideoMode[];
  /** Frames a second. */
  fps: readonly number[];
  /** Modes in which it makes loops. */
  loop: readonly VideoMode[];
  promptOptimizer: boolean;
  negativePrompt: boolean;
  /** Whether this installation itself must be able to decode a source video. */
  decodesHere: boolean;
}

export type VideoModel = Omit<VideoModelV4, 'doGenerate'> & {
  doGenerate(options: VideoCallOptions): PromiseLike<VideoModelV4Result>;
  /** Absent: text and image to video at 30 frames a second, no loop, no optimizer, no negative prompt. */
  capabilities?: VideoCapabilities;
};
