import { ApiError } from '../../contract/errors.js';
import type { JobHandler } from '../../jobs/jobs.types.js';
import type { ModelCatalogue } from '../../models/models.types.js';
import type { ProviderRegistry } from '../../providers/index.js';
import type { GenerationKind } from '../generation.types.js';
import type { KindJob } from '../kind.types.js';

/** What a worker runs for each kind of generation. */
export function jobHandlersOf(
  kinds: readonly GenerationKind<unknown>[],
  { models, providers }: { models: ModelCatalogue; providers: ProviderRegistry },
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
      const { signal, progress: onProgress } = context;
      const { inputParams } = context.job;
      const provider = providers.find(model.upstream?.providerId ?? '');
      const work = async () => await kind.run(context, inputParams, priced);
      return provider?.afterDelay === undefined
        ? await work()
        : await provider.afterDelay({ inputParams, signal, onProgress }, work);
    },
  }));
}
