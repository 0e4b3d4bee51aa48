import type { SpeechModel } from '../speech.types.js';
import type { Transport } from './transport.js';

/**
 * Speech of an upstream that speaks the common convention (`POST /audio/speech`). Voices are the upstream's own names; of `model_inputs` it
 * takes `instructions`.
 */
export function createOpenAiCompatibleSpeech(options: {
  transport: Transport;
  providerId: string;
  modelId: string;
}): SpeechModel {
  const { transport, providerId, modelId } = options;
  return {
    specificationVersion: 'v4',
    provider: providerId,
    modelId,
    capabilities: { voices: null, referenceAudio: false, modelInputs: ['instructions'] },
    async doGenerate({ text, voice, outputFormat, speed, providerOptions, abortSignal, orders }) {
      const body = JSON.stringify({
        ...providerOptions?.['penstock'],
        model: modelId,
        input: text,
        ...(voice === undefined ? {} : { voice }),
        ...(outputFormat === undefined ? {} : { response_format: outputFormat }),
        ...(speed === undefined || speed === 1 ? {} : { speed }),
      });
      const audio = await transport.postForBytes('/audio/speech', body, {
        signal: abortSignal,
        idempotencyKey: orders?.key,
        // As the convention's clients ask: some upstreams answer in JSON otherwise.
        accept: 'application/octet-stream',
      });
      return { audio, warnings: [], response: { timestamp: new Date(), modelId } };
    },
  };
}
