import type { TtsModel } from '../tts.types.js';
import { keyWithout } from './optional-fields.js';
import type { RefusedFields } from './optional-fields.js';
import type { Transport } from './transport.js';

const PATH = '/audio/speech';
/** Sounds are brought to their format here. */
const OPTIONAL = { response_format: [] };

/**
 * Speech of an upstream that speaks the common convention (`POST /audio/speech`). Voices are the upstream's own names; of `model_inputs` it
 * takes `instructions`.
 */
export function createOpenAiCompatibleSpeech(options: {
  transport: Transport;
  providerId: string;
  modelId: string;
  refused: RefusedFields;
}): TtsModel {
  const { transport, providerId, modelId, refused } = options;
  return {
    specificationVersion: 'v4',
    provider: providerId,
    modelId,
    capabilities: { voices: null, referenceAudio: false, modelInputs: ['instructions'] },
    async doGenerate({ text, voice, outputFormat, speed, providerOptions, abortSignal, orders, onSound }) {
      const fields = {
        ...providerOptions?.['penstock'],
        model: modelId,
        input: text,
        ...(voice === undefined ? {} : { voice }),
        ...(outputFormat === undefined ? {} : { response_format: outputFormat }),
        ...(speed === undefined || speed === 1 ? {} : { speed }),
      };
      const audio = await refused.send({ path: PATH, modelId, optional: () => OPTIONAL }, (without) => {
        const sent = Object.entries(fields).filter(([name]) => !without.has(name));
        return transport.postForBytes(PATH, JSON.stringify(Object.fromEntries(sent)), {
          signal: abortSignal,
          idempotencyKey: keyWithout(orders?.key, without),
          // As the convention's clients ask: some upstreams answer in JSON otherwise.
          accept: 'application/octet-stream',
          onBytes: onSound,
        });
      });
      return { audio, warnings: [], response: { timestamp: new Date(), modelId } };
    },
  };
}
