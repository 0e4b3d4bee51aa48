import { multipartOf } from '../openai-compatible/multipart.js';
import { brokenAnswer, cleanMessage } from '../openai-compatible/upstream-errors.js';
import { isFields } from './api-client.js';
import type { ApiClient, Fields } from './api-client.js';
import { finalFault, followOrder, patiently } from './operation.js';
import type { OperationLimits, OperationState } from './operation.js';
import { outputAddress } from './output-file.js';
import type { PredictionInput, Predictor } from './predictions.types.js';

/** A larger file is uploaded first; smaller ones stand in the input. */
const INLINE_BYTES = 256 * 1024;
/** What models print of how far they are: the last percentage of their log. */
const PERCENT = /(\d{1,3})%\|/g;

function percentOf(logs: unknown): number | undefined {
  const found = typeof logs === 'string' ? [...logs.slice(-2000).matchAll(PERCENT)].at(-1)?.[1] : undefined;
  return found === undefined ? undefined : Number(found);
}

function stateOf(prediction: Fields, secrets: readonly string[]): OperationState<unknown> {
  const { status, output, error, logs } = prediction;
  if (status === 'succeeded') return { done: true, value: output };
  if (status === 'failed' || status === 'canceled' || status === 'aborted')
    throw finalFault(`Upstream prediction ${status}: ${cleanMessage(String(error ?? ''), secrets)}`);
  return { done: false, percent: percentOf(logs) };
}

/** Replicate's predictions: `owner/name` by its latest version, `owner/name:version` by that one. */
export function createReplicate(
  api: ApiClient,
  { limits, secrets }: { limits: OperationLimits; secrets: readonly string[] },
): Predictor {
  const pathOf = (id: string): string => `/predictions/${encodeURIComponent(id)}`;
  const withdraw = (id: string, signal: AbortSignal) =>
    api.json({ method: 'POST', path: `${pathOf(id)}/cancel`, signal });
  /** The prediction as the order's answer has it: quick models have ended by then. */
  const order = async (modelId: string, input: PredictionInput): Promise<[string, Fields]> => {
    const [model = '', version] = modelId.split(':');
    const path = version === undefined ? `/models/${model}/predictions` : '/predictions';
    const body = { input: await input(), ...(version === undefined ? {} : { version }) };
    const made = await api.json({ method: 'POST', path, body, signal: undefined });
    if (typeof made['id'] !== 'string' || made['id'] === '') throw brokenAnswer('no prediction');
    return [made['id'], made];
  };
  return {
    async predict(modelId, input, { signal, onProgress, orders: log }) {
      let made: Fields | null = null;
      return await followOrder({
        async place() {
          const [id, prediction] = await order(modelId, input);
          made = prediction;
          return id;
        },
        async check(id, within) {
          const prediction = made ?? (await api.json({ method: 'GET', path: pathOf(id), signal: within }));
          made = null;
          return stateOf(prediction, secrets);
        },
        withdraw,
        limits,
        signal,
        onProgress,
        log,
      });
    },
    withdraw,
    async upload({ bytes, mediaType }, signal) {
      if (bytes.length <= INLINE_BYTES)
        return `data:${mediaType};base64,${Buffer.from(bytes).toString('base64')}`;
      const form = multipartOf([], [{ name: 'content', filename: 'input', contentType: mediaType, bytes }]);
      const { urls } = await api.json({ method: 'POST', path: '/files', body: form, signal });
      const address = isFields(urls) ? urls['get'] : undefined;
      if (typeof address !== 'string') throw brokenAnswer('no file');
      return address;
    },
    file: async (output, signal) => {
      const address = outputAddress(output);
      return await patiently(() => api.file(address, signal), { pollMs: limits.pollMs, signal });
    },
  };
}
