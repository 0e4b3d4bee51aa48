import { madeVideo, resolutionOf, sourceOf } from '../video-calls.js';
import { PLAIN_SETTINGS, VIDEO_MODES } from '../video.types.js';
import type {
  VideoCallOptions,
  VideoCapabilities,
  VideoMode,
  VideoModel,
  VideoSettings,
} from '../video.types.js';
import type { FieldValue, ModelFields } from './model-fields.js';
import { inputOf, knownValues, modeOf } from './model-fields.js';
import type { PredictionModel } from './predictions.types.js';

const SOURCES: Record<VideoMode, 'source_image' | 'source_video' | null> = {
  text_to_video: null,
  image_to_video: 'source_image',
  video_to_video: 'source_video',
};

function settingsOf(fields: ModelFields, modelId: string, mode: VideoMode): VideoSettings {
  const { without } = modeOf(fields, modelId, mode);
  const field = (name: string) => (without.includes(name) ? undefined : fields.inputs[name]);
  const listed = <T>(
    name: string,
    plain: readonly T[] | null,
    read: (value: string) => T,
  ): readonly T[] | null => {
    const found = field(name);
    return found === undefined ? plain : (knownValues(found)?.map(read) ?? null);
  };
  return {
    durations: listed('duration_seconds', PLAIN_SETTINGS.durations, Number),
    resolutions: listed('resolution', PLAIN_SETTINGS.resolutions, String),
    aspectRatios: listed('aspect_ratio', PLAIN_SETTINGS.aspectRatios, String),
    fps: listed('fps', PLAIN_SETTINGS.fps, Number),
    seed: field('seed') !== undefined,
    negativePrompt: field('negative_prompt') !== undefined,
    promptOptimizer: field('prompt_optimizer') !== undefined,
    loop: field('loop') !== undefined,
  };
}

function capabilitiesOf({ fields, modelId }: PredictionModel): VideoCapabilities {
  const modes = VIDEO_MODES.filter((mode) => {
    const source = SOURCES[mode];
    const allowed = fields.tasks?.includes(mode) ?? true;
    return allowed && (source === null || fields.inputs[source] !== undefined);
  });
  return { modes, settings: (mode) => settingsOf(fields, modelId, mode), decodesHere: false };
}

function modeOfCall({ image, inputReferences }: VideoCallOptions): VideoMode {
  if (image !== undefined) return 'image_to_video';
  return inputReferences === undefined ? 'text_to_video' : 'video_to_video';
}

function valuesOf(options: VideoCallOptions): Record<string, FieldValue | undefined> {
  const ours = options.providerOptions['penstock'] ?? {};
  return {
    prompt: options.prompt ?? undefined,
    duration_seconds: options.duration,
    resolution: resolutionOf(options),
    aspect_ratio: options.aspectRatio,
    fps: options.fps,
    seed: options.seed,
    negative_prompt: ours['negative_prompt'] as string | undefined,
    prompt_optimizer: (ours['prompt_optimizer'] as boolean | undefined) ?? false,
    loop: (ours['loop'] as boolean | undefined) ?? false,
  };
}

/** Videos of a model that a {@link Predictor} runs. */
export function createPredictionVideo(model: PredictionModel): VideoModel {
  const { predictor, providerId, modelId, fields } = model;
  return {
    specificationVersion: 'v4',
    provider: providerId,
    modelId,
    maxVideosPerCall: 1,
    capabilities: capabilitiesOf(model),
    async doGenerate(options) {
      const signal = options.abortSignal ?? new AbortController().signal;
      const mode = modeOfCall(options);
      const { upstreamId, without } = modeOf(fields, modelId, mode);
      const source = sourceOf(mode === 'image_to_video' ? options.image : options.inputReferences?.[0]);
      const named = SOURCES[mode];
      const input = async () => {
        const given = source && named ? { [named]: await predictor.upload(source, signal) } : {};
        return inputOf(fields, { ...valuesOf(options), ...given }, without);
      };
      const { onProgress, orders } = options;
      const output = await predictor.predict(upstreamId, input, { signal, onProgress, orders });
      return madeVideo(await predictor.file(output, signal), modelId);
    },
    async withdraw(reference, signal) {
      await predictor.withdraw(reference, signal);
    },
  };
}
