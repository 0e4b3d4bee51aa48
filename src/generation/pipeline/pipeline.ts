import { takeBoundId } from '../../idempotency/index.js';
import type { Logger } from 'pino';
import type { FileService } from '../../files/files.types.js';
import type { Storage } from '../../files/index.js';
import type { Job, JobService } from '../../jobs/jobs.types.js';
import type { Metering } from '../../metering/metering.types.js';
import type { ModelCatalogue } from '../../models/models.types.js';
import type { CallContext } from '../../metering/call-context.js';
import type { Tool } from '../../contract/words.js';
import type { GenerationAnswer, GenerationKind, GenerationService } from '../generation.types.js';
import { acceptedAnswer, completedAnswer, unansweredError, unfinishedError } from './answer.js';
import { checkRequest } from './checks.js';
import { createStarter, readInputs } from './start.js';

export interface GenerationOptions {
  kinds: readonly GenerationKind<unknown>[];
  models: ModelCatalogue;
  metering: Metering;
  jobs: JobService;
  files: FileService;
  storage: Pick<Storage, 'fault'>;
  config: { jobs: { syncTimeoutMs: number } };
  logger: Logger;
  /** Fires when the process stops taking work: waiting callers get `Still processing` (decisions 6). */
  draining: AbortSignal;
}

/** Admission, job, waiting and answer of every kind of generation, in the order of decisions 1. */
export function createGenerationService(options: GenerationOptions): GenerationService {
  const { models, jobs, files } = options;
  const kinds = new Map(options.kinds.map((kind) => [kind.name, kind]));
  const kindOf = (tool: Tool) => {
    const kind = kinds.get(tool);
    if (kind === undefined) throw new Error(`No generation kind for ${tool}`);
    return kind;
  };
  const start = createStarter(options);

  /** The job is already charged. If its files are temporarily unavailable, the caller retries and gets the same job. */
  const resultOfCompleted = async (job: Job): Promise<GenerationAnswer> => {
    try {
      return await completedAnswer(kindOf(job.tool), job, files);
    } catch (error) {
      options.logger.warn({ err: error, jobId: job.id }, 'the answer of a completed job could not be made');
      throw unansweredError(job, error);
    }
  };
  const resultOf = async (call: CallContext, job: Job): Promise<GenerationAnswer> => {
    const finished = await jobs.wait(job.orgId, job.id, {
      timeoutMs: options.config.jobs.syncTimeoutMs,
      signal: AbortSignal.any([options.draining, call.signal]),
    });
    if (finished.status !== 'completed') throw unfinishedError(finished);
    return await resultOfCompleted(finished);
  };

  return {
    // oxlint-disable-next-line max-params -- the interface's four
    async generate(tool, call, body, { async }) {
      const resumed = takeBoundId(call, 'job');
      const job =
        resumed === null
          ? await start(kindOf(tool), call, body)
          : await jobs.get(call.principal.orgId, resumed);
      if (job.live !== null) call.live?.opened(job.id, jobs.parts(job));
      return async ? acceptedAnswer(job) : await resultOf(call, job);
    },
    async estimate(tool, call, body) {
      const kind = kindOf(tool);
      const checked = checkRequest(kind, body, { models, caller: call.principal });
      if (!checked.ok) throw checked.fault;
      const { model } = checked;
      const input =
        (await readInputs(call, async (reading) => await kind.measure?.(reading, checked.input))) ??
        checked.input;
      return { model: model.id, modelTier: model.tier, amounts: kind.price(input, model) };
    },
    async answerOf(job) {
      if (job.status !== 'completed') throw unfinishedError(job);
      return await resultOfCompleted(job);
    },
  };
}
