import { UpstreamError } from '../providers.types.js';
import { brokenAnswer } from '../openai-compatible/upstream-errors.js';
import type { ApiClient, Fields } from './api-client.js';
import { finalFault, followOrder, patiently } from './operation.js';
import type { OperationLimits, OperationState } from './operation.js';
import { outputAddress } from './output-file.js';
import type { Predictor } from './predictions.types.js';

const ENDED = new Set(['COMPLETED', 'FAILED', 'CANCELED', 'CANCELLED']);
const PERCENT = /(\d{1,3})%\|/g;

function percentOf(logs: unknown): number | undefined {
  if (!Array.isArray(logs)) return undefined;
  const text = (logs as { message?: unknown }[]).map(({ message }) => String(message ?? '')).join('\n');
  const found = [...text.slice(-2000).matchAll(PERCENT)].at(-1)?.[1];
  return found === undefined ? undefined : Number(found);
}

/** Where a request is asked about: as the queue says, or below the app (two words; what follows is the endpoint's own path). */
function requestPath(api: ApiClient, modelId: string, queued: Fields): string {
  const { request_id: id, response_url: address } = queued;
  if (typeof address === 'string' && api.isOwn(address)) return address;
  if (typeof id !== 'string' || id === '') throw brokenAnswer('no request');
  return `/${modelId.split('/').slice(0, 2).join('/')}/requests/${encodeURIComponent(id)}`;
}

/** fal's queue. */
export function createFal(api: ApiClient, limits: OperationLimits): Predictor {
  /** A result that is an error of the model's: the caller's fault where it is one, and never a reason to order again. */
  const resultAt = async (path: string, signal: AbortSignal): Promise<OperationState<unknown>> => {
    try {
      return { done: true, value: await api.json({ method: 'GET', path, signal }) };
    } catch (error) {
      if (error instanceof UpstreamError && error.options.status !== null && error.fault === 'failed')
        throw finalFault(error.message);
      throw error;
    }
  };
  const withdraw = (path: string, signal: AbortSignal) =>
    api.json({ method: 'PUT', path: `${path}/cancel`, signal });
  return {
    predict: async (modelId, input, { signal, onProgress, orders: log }) =>
      await followOrder({
        async place() {
          const body = await input();
          const queued = await api.json({ method: 'POST', path: `/${modelId}`, body, signal: undefined });
          return requestPath(api, modelId, queued);
        },
        async check(path, within) {
          const status = await api.json({ method: 'GET', path: `${path}/status?logs=1`, signal: within });
          if (ENDED.has(String(status['status']))) return await resultAt(path, within);
          return { done: false, percent: percentOf(status['logs']) };
        },
        withdraw,
        limits,
        signal,
        onProgress,
        log,
      }),
    withdraw,
    upload: ({ bytes, mediaType }) =>
      Promise.resolve(`data:${mediaType};base64,${Buffer.from(bytes).toString('base64')}`),
    file: async (output, signal) => {
      const address = outputAddress(output);
      return await patiently(() => api.file(address, signal), { pollMs: limits.pollMs, signal });
    },
  };
}
