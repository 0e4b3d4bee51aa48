import type { ReactNode } from 'react';
import { OPERATION_STATUSES, OPERATIONS, type CallSearch } from '../data/call-filter.js';
import { KeyFilter, ModelFilter, TextFilter, WordFilter } from './filters.js';

interface CallFiltersProps {
  search: CallSearch;
  /** Gets the name of the filter with its new value. An empty value removes the filter. */
  onChoose(changed: Record<string, string>): void;
}

/** The filters by properties of calls, besides their time. */
export function CallFilters({ search, onChoose }: CallFiltersProps): ReactNode {
  const { operation, status, model, key, endUser, tag } = search;
  return (
    <>
      <WordFilter
        label="Operation"
        name="operation"
        words={OPERATIONS}
        value={operation}
        onChoose={onChoose}
      />
      <WordFilter label="State" name="status" words={OPERATION_STATUSES} value={status} onChoose={onChoose} />
      <ModelFilter value={model} onChoose={onChoose} />
      <KeyFilter value={key} onChoose={onChoose} />
      <TextFilter label="End user" name="endUser" value={endUser} onChoose={onChoose} />
      <TextFilter label="Tag" name="tag" value={tag} onChoose={onChoose} />
    </>
  );
}
