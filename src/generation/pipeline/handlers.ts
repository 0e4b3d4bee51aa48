import { ApiError } from '../../contract/errors.js';
import type { JobHandler } from '../../jobs/jobs.types.js';
import type { ModelCatalogue } from '../../models/models.types.js';
import { SANDBOX_ID, waitAhead } from '../../providers/index.js';
import type { GenerationKind } from '../generation.types.js';

/** What a worker runs for each kind of generation. */
export function jobHandlersOf(
  kinds: readonly GenerationKind<unknown>[],
  models: ModelCatalogue,
): JobHandler[] {
  return kinds.map((kind) => ({
    tool: kind.tool,
    concurrency: kind.concurrency,
    timeLimitMs: kind.timeLimitMs,
    failureMessage: kind.failureMessage,
    ...(kind.withdraw === undefined ? {} : { withdraw: kind.withdraw }),
    async run(context) {
      // The catalogue may have been read anew since the job was made.
      const model = models.find(context.job.model);
      if (model === null || !model.available)
        throw new ApiError('invalid_request', `Model not available: ${context.job.model}`, {
          param: 'model',
        });
      // The price stays the one that was reserved.
      const priced = { ...model, multiplier: context.job.multiplier };
      const { inputParams } = context.job;
      const words = model.upstream?.providerId === SANDBOX_ID ? directedWords(inputParams) : '';
      const work = async () => await kind.run(context, inputParams, priced);
      return await waitAhead(words, { signal: context.signal, onProgress: context.progress }, work);
    },
  }));
}

/** Where a kind's sandbox looks for its directive. */
function directedWords({
  prompt,
  new_background: background,
  input,
  model_inputs: inputs,
}: Record<string, unknown>) {
  const words =
    prompt ?? background ?? input ?? (inputs as Record<string, unknown> | undefined)?.['directive'];
  return typeof words === 'string' ? words : '';
}
