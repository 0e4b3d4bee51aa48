import type { ModelInfo } from '@anthropic-ai/sdk/resources/models';
import { invalid } from '../../../src/contract/errors.js';
import type { FoundModel } from '../openai/models.js';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 1000;

/** Unknown properties of a model are null, as in the convention. */
export function showModelInfo(model: FoundModel): ModelInfo {
  return {
    type: 'model',
    id: model.id,
    display_name: model.name,
    created_at: new Date(model.created * 1000).toISOString(),
    capabilities: null,
    deprecated_at: null,
    lifecycle: 'active',
    line: null,
    max_input_tokens: model.context_window,
    max_tokens: model.max_output_tokens,
    retires_at: null,
  };
}

/** A page of the list, by `limit` (1 to 1,000, default 20), `after_id` and `before_id`. @throws ApiError invalid_request */
export function showModelPage(models: readonly FoundModel[], query: URLSearchParams) {
  const limit = limitOf(query.get('limit'));
  const [after, before] = [query.get('after_id'), query.get('before_id')];
  if (after !== null && before !== null)
    throw invalid('after_id and before_id cannot be used together', 'before_id');
  const end = before === null ? models.length : placeOf(models, before, 'before_id');
  const start =
    before === null
      ? after === null
        ? 0
        : placeOf(models, after, 'after_id') + 1
      : Math.max(0, end - limit);
  const data = models.slice(start, Math.min(end, start + limit)).map(showModelInfo);
  return {
    data,
    has_more: before === null ? start + limit < models.length : start > 0,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}

function limitOf(text: string | null): number {
  if (text === null) return DEFAULT_LIMIT;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MAX_LIMIT) throw invalid(`limit must be between 1 and ${MAX_LIMIT}`, 'limit');
  return limit;
}

function placeOf(models: readonly FoundModel[], id: string, param: string): number {
  const place = models.findIndex((model) => model.id === id);
  if (place === -1) throw invalid(`${param} is not the id of a model in the list`, param);
  return place;
}
