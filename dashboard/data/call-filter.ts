import { textIn, wordIn } from './search.js';

/** The results with which an operation may end. */
export const OPERATION_STATUSES = ['succeeded', 'failed', 'cancelled'] as const;

/** The kinds of operations. */
export const OPERATIONS = [
  'chat',
  'embedding',
  'rerank',
  'image',
  'image_edit',
  'video',
  'music',
  'tts',
  'stt',
  'agent_run',
  'agent_model',
  'agent_tool',
  'adjustment',
  'top_up',
] as const;

/** The filter of calls in an address. Lists and sums use it. */
export interface CallSearch {
  operation?: (typeof OPERATIONS)[number] | undefined;
  status?: (typeof OPERATION_STATUSES)[number] | undefined;
  model?: string | undefined;
  key?: string | undefined;
  endUser?: string | undefined;
  tag?: string | undefined;
}

/** @throws BadAddress */
export const readCallFilter = (search: Record<string, unknown>): CallSearch => ({
  operation: wordIn(search, 'operation', OPERATIONS),
  status: wordIn(search, 'status', OPERATION_STATUSES),
  model: textIn(search, 'model'),
  key: textIn(search, 'key'),
  endUser: textIn(search, 'endUser'),
  tag: textIn(search, 'tag'),
});

/** Converts the filter to the form that the API's filters take. */
export const callFilterOf = ({ operation, status, model, key, endUser, tag }: CallSearch) => ({
  ...(operation && { operations: [operation] }),
  ...(status && { statuses: [status] }),
  ...(model && { models: [model] }),
  ...(key && { keyIds: [key] }),
  ...(endUser && { endUsers: [endUser] }),
  ...(tag && { tags: [tag] }),
});
