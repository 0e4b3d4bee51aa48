import { ApiError } from '../contract/errors.js';
import type { Tool } from '../contract/words.js';
import type { JobHandler } from '../jobs/jobs.types.js';
import type { ProviderRegistry } from '../providers/index.js';
import type { Database } from '../database/database.types.js';
import type { ModelCatalogue } from '../models/models.types.js';
import type { GenerationKind, JobKindOptions } from './generation.types.js';
import { createImageKind } from './image/image.js';
import { createImageEditKind } from './image_edit/image_edit.js';
import { createMusicKind } from './music/music.js';
import { createUpstreams } from './pipeline/upstreams.js';
import { createSttKind } from './stt/stt.js';
import { createSpokenTexts } from './tts/spoken-texts.queries.js';
import { createTtsKind } from './tts/tts.js';
import { createVideoKind } from './video/video.js';

/** The constructors of the kinds whose work is a job. */
const MAKERS: Record<Tool, (options: JobKindOptions) => GenerationKind<unknown>> = {
  image: createImageKind,
  image_edit: createImageEditKind,
  video: createVideoKind,
  music: createMusicKind,
  tts: createTtsKind,
  stt: createSttKind,
};

interface Parts extends Omit<JobKindOptions, 'spoken' | 'upstreams'> {
  models: ModelCatalogue;
  database: Pick<Database, 'tenantQuery'>;
}

/** Creates the kinds of generation whose work is a job. */
export function createJobKinds({ database, models, ...parts }: Parts): GenerationKind<unknown>[] {
  const upstreams = createUpstreams({ models, ...parts });
  const options = { ...parts, upstreams, spoken: createSpokenTexts(database) };
  return Object.values(MAKERS).map((make) => make(options));
}

/** The worker's function for each kind of generation. */
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
      // The catalogue may have been reloaded since the job was created.
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
