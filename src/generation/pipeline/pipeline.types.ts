import type { Logger } from 'pino';
import type { FileService } from '../../files/files.types.js';
import type { Storage } from '../../files/index.js';
import type { JobService } from '../../jobs/jobs.types.js';
import type { Metering } from '../../metering/metering.types.js';
import type { ModelCatalogue } from '../../models/models.types.js';
import type { GenerationKind } from '../generation.types.js';

export interface GenerationOptions {
  kinds: readonly GenerationKind<unknown>[];
  models: ModelCatalogue;
  metering: Metering;
  jobs: JobService;
  files: FileService;
  storage: Pick<Storage, 'fault'>;
  config: { jobs: { syncTimeoutMs: number } };
  logger: Logger;
  /** Fires when the process stops taking work: waiting callers are told `Still processing` (decisions 6). */
  draining: AbortSignal;
}
