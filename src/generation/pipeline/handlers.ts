import { ApiError } from '../../contract/errors.js';
import type { JobHandler } from '../../jobs/jobs.types.js';
import type { ModelCatalogue } from '../../models/models.types.js';
import { SANDBOX_ID, waitAhead } from '../../providers/index.js';
import type { GenerationKind } from '../generation.types.js';
import type { KindJob } from '../kind.types.js';

/** What a worker runs for each kind of generation. */
export function jobHandlersOf(
  kinds: readonly GenerationKind<unknown>[],
  models: ModelCatalogue,
): JobHandler[] {
  return kinds.map((kind) => ({
    tool: kind.name,
    concurrency: kind.job.concurrency,
    timeLimitMs: kind.job.timeLimitMs,
    failureMessage: kind.job.failureMessage,
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
      const words = model.upstream?.providerId === SANDBOX_ID ? directedWords(kind.job, inputParams) : '';
      const work = async () => await kind.run(context, inputParams, priced);
      return await waitAhead(words, { signal: context.signal, onProgress: context.progress }, work);
    },
  }));
}

/** The words in which the sandbox looks for its directive. */
function directedWords({ directive }: KindJob, params: Record<string, unknown>): string {
  for (const path of directive) {
    const words = path
      .split('.')
      .reduce<unknown>(
        (value, name) => (value as Record<string, unknown> | null | undefined)?.[name],
        params,
      );
    if (words !== undefined && words !== null) return typeof words === 'string' ? words : '';
  }
  return '';
}
