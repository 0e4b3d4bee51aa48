import { useEffect, useState, type ReactNode } from 'react';
import { toFault } from '../data/fault.js';
import { graphql, type ResultOf } from '../data/graphql.js';
import { usePlace } from '../data/hooks.js';
import { asAmounts } from '../ui/charge.js';
import type { JobKind } from './kinds.js';

const ESTIMATE = graphql(`
  query PlayEstimate($input: EstimateInput!) {
    estimate(input: $input) {
      model
      modelTier
      amounts {
        bucket
        amount
      }
    }
  }
`);

type Estimate = ResultOf<typeof ESTIMATE>['estimate'];

/** Each estimate takes a slot of the session's rate window. So an estimate is requested only after a pause in typing. */
const QUIET_MS = 700;

const PLACEHOLDER = 'https://example.com/picture.png';

/** The input of an estimate. The images of an edit do not change its price, so a short URL takes their place. The server does not fetch it. */
export function estimateInput(
  { estimate }: JobKind,
  input: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  if (estimate !== 'imageEdit') return { [estimate]: input };
  const mask = input['mask'] === undefined ? {} : { mask: PLACEHOLDER };
  return { [estimate]: { ...input, image: PLACEHOLDER, ...mask } };
}

/**
 * Shows what the call would cost. The estimate is requested when nothing has been entered for a moment.
 * @param input the field of `EstimateInput` and its value; null while a required value is missing
 */
export function EstimateLine({ input }: { input: Record<string, unknown> | null }): ReactNode {
  const { api } = usePlace();
  const [found, setFound] = useState<{ estimate?: Estimate; problem?: string }>({});
  const key = input === null ? null : JSON.stringify(input);
  useEffect(() => {
    setFound({});
    if (key === null) return undefined;
    let isCurrent = true;
    const timer = setTimeout(() => {
      api.request(ESTIMATE, { input: JSON.parse(key) as never }).then(
        ({ estimate }) => isCurrent && setFound({ estimate }),
        (thrown) => isCurrent && setFound({ problem: toFault(thrown).message }),
      );
    }, QUIET_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [api, key]);
  const { estimate, problem } = found;
  return (
    <p className="hint" role="status">
      {estimate &&
        `${estimate.model} (${estimate.modelTier}): about ${asAmounts(estimate.amounts) ?? 'nothing'}`}
      {problem}
    </p>
  );
}
