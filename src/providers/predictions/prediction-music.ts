import type { MusicCall, MusicCapabilities, MusicModel } from '../music.types.js';
import type { FieldValue, ModelFields } from './model-fields.js';
import { inputOf, knownValues, modeOf } from './model-fields.js';
import type { PredictionModel } from './predictions.types.js';

/** Parameters of contract 4.5 that can have a field; all other names are accepted in `model_inputs`. */
const OURS: ReadonlySet<string> = new Set([
  'prompt',
  'duration_seconds',
  'output_format',
  'negative_prompt',
  'source_audio',
]);
/** The contract's default, for a model without such a parameter. */
const PLAIN_SECONDS = [30];

function durationsOf({ inputs }: ModelFields): MusicCapabilities['durations'] {
  const field = inputs['duration_seconds'];
  if (field === undefined) return PLAIN_SECONDS;
  if (typeof field === 'object' && 'min' in field) return { min: field.min, max: field.max };
  return knownValues(field)?.map(Number) ?? null;
}

function valuesOf(call: MusicCall): Record<string, FieldValue | undefined> {
  return {
    ...call.modelInputs,
    prompt: call.prompt,
    duration_seconds: call.durationSeconds,
    output_format: call.format,
    negative_prompt: call.negativePrompt ?? undefined,
  };
}

/** Music of a third-party model. The caller of this function converts it to the requested format. */
export function createPredictionMusic({ predictor, modelId, fields }: PredictionModel): MusicModel {
  return {
    capabilities: {
      textToMusic: fields.tasks?.includes('text_to_music') ?? true,
      audioToAudio: fields.inputs['source_audio'] !== undefined,
      negativePrompt: fields.inputs['negative_prompt'] !== undefined,
      durations: durationsOf(fields),
      modelInputs: Object.keys(fields.inputs).filter((name) => !OURS.has(name)),
    },
    async generate(call) {
      const { source, signal, onProgress, orders } = call;
      const mode = source === null ? 'text_to_music' : 'audio_to_audio';
      const { upstreamId, without } = modeOf(fields, modelId, mode);
      const input = async () => {
        const given = source === null ? {} : { source_audio: await predictor.upload(source, signal) };
        return inputOf(fields, { ...valuesOf(call), ...given }, without);
      };
      const output = await predictor.predict(upstreamId, input, { signal, onProgress, orders });
      return { bytes: await predictor.file(output, signal), durationSeconds: null };
    },
    async withdraw(reference, signal) {
      await predictor.withdraw(reference, signal);
    },
  };
}
