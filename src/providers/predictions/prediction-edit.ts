import type { ImageEditCall, ImageEditor } from '../image-edit.types.js';
import type { FieldValue, ModelFields } from './model-fields.js';
import { inputOf } from './model-fields.js';
import type { PredictionModel } from './predictions.types.js';

/** Parameters of an edit that can have a field; all other names are accepted in `model_inputs`. */
const OURS: ReadonlySet<string> = new Set(['prompt', 'image', 'mask', 'scale', 'strength']);
/** Operations that need a prompt, that need a mask, and that need neither. */
const BY_WORDS = ['backgroundReplace', 'faceEnhancement', 'colorization', 'styleTransfer'];
const BY_MASK = ['inpainting', 'outpainting', 'objectRemoval'];

/** The operations of a model whose entry lists none, derived from its fields. */
function tasksOf({ inputs, tasks }: ModelFields): readonly string[] {
  if (tasks !== undefined) return tasks;
  if (inputs['scale'] !== undefined) return ['superResolution'];
  if (inputs['mask'] !== undefined) return inputs['prompt'] === undefined ? ['objectRemoval'] : BY_MASK;
  return inputs['prompt'] === undefined ? ['backgroundRemoval'] : BY_WORDS;
}

function valuesOf(call: ImageEditCall): Record<string, FieldValue | undefined> {
  return { ...call.modelInputs, prompt: call.prompt, scale: call.scale, strength: call.strength };
}

/** Edits of a third-party model; its mask is white where the model may paint. */
export function createPredictionEditor({ predictor, modelId, fields }: PredictionModel): ImageEditor {
  const png = (bytes: Uint8Array, signal: AbortSignal): Promise<string> =>
    predictor.upload({ bytes, mediaType: 'image/png' }, signal);
  return {
    capabilities: {
      operations: tasksOf(fields),
      strength: fields.inputs['strength'] !== undefined,
      modelInputs: Object.keys(fields.inputs).filter((name) => !OURS.has(name)),
      mask: 'white',
    },
    async edit(call) {
      const { signal, mask, orders } = call;
      const input = async () => {
        const image = await png(call.image, signal);
        const painted =
          mask === undefined || fields.inputs['mask'] === undefined ? null : await png(mask, signal);
        const given = { image, ...(painted === null ? {} : { mask: painted }) };
        return inputOf(fields, { ...valuesOf(call), ...given });
      };
      return await predictor.file(await predictor.predict(modelId, input, { signal, orders }), signal);
    },
    async withdraw(reference, signal) {
      await predictor.withdraw(reference, signal);
    },
  };
}
