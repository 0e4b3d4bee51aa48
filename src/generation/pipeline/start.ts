import { storageLimitOf } from '../../access/index.js';
import { withinInputTime } from '../../files/index.js';
import { runForOrg } from '../../processes/index.js';
import { ApiError } from '../../contract/errors.js';
import { newId } from '../../contract/ids.js';
import { endpointOf } from '../../contract/words.js';
import type { LimitedEndpoint } from '../../contract/words.js';
import type { Job } from '../../jobs/jobs.types.js';
import { attributionOf, countedFor } from '../../metering/index.js';
import type { CallContext } from '../../metering/call-context.js';
import type { Attribution, OperationRequest } from '../../metering/metering.types.js';
import type { Model } from '../../models/models.types.js';
import { admitCall, CallSlots } from './call-admission.js';
import type { GenerationKind } from '../generation.types.js';
import type { GenerationOptions } from './pipeline.js';
import { costBound } from './cost-bound.js';
import { checkRequest } from './checks.js';
import type { Checked, ModelCaller } from './checks.js';

type StartOptions = Pick<GenerationOptions, 'models' | 'metering' | 'jobs' | 'files' | 'storage' | 'logger'>;
type AnyKind = GenerationKind<unknown>;

/** A job to create: the data for both its reservation and its row. */
interface Draft {
  kind: AnyKind;
  model: Model;
  input: unknown;
  attribution: Attribution;
  jobId: string;
  operationId: string;
  fileIds: string[];
}

/**
 * Creates the job of a request. First the checks, which have no effect; then one statement takes the windows' slots and reserves the price. An
 * error of the checks is thrown only after the slots were taken, so that 429 comes before 403 and 400. If a kind has input files, the slots are
 * taken first, then the files are read, then the price is reserved.
 *
 * `Too many pending jobs` is a 429 too: it comes before all of that, takes no slot and reserves nothing. If the limit is only reached at the
 * creation of the job, slots and reservation are returned.
 */
export function createStarter(
  options: StartOptions,
): (kind: AnyKind, call: CallContext, body: Record<string, unknown>) => Promise<Job> {
  const { metering, models, jobs, storage } = options;

  return async (kind, call, body) => {
    const endpoint = endpointOf(kind.name);
    const checked = checkStart(kind, call, { body, models });
    const { orgId, plan } = call.principal;
    const isFull = storage.fault(orgId, storageLimitOf(plan));
    isFull.catch(() => undefined);
    await jobs.requireRoom(call.principal);
    if (!checked.ok) return await refuse(checked.fault, () => admitCall(metering, call, { endpoint }));
    // The storage is full: the result would be paid for but could not be stored.
    const full = await isFull;
    const draft: Draft = {
      kind,
      model: checked.model,
      input: checked.input,
      attribution: checked.attribution,
      jobId: newId('job'),
      operationId: newId('op'),
      fileIds: [],
    };
    const slots = new CallSlots();
    if (kind.prepare === undefined) {
      if (full !== null) return await refuse(full, () => admitCall(metering, call, { endpoint }));
      return await admitJob(options, call, { draft, slots, windows: { endpoint } });
    }
    await admitCall(metering, call, { endpoint, slots });
    const prepared = await prepare(options, call, { draft, full });
    return await admitJob(options, call, { draft: prepared, slots, windows: {} });
  };
}

type CheckedStart = (Extract<Checked<unknown>, { ok: true }> & { attribution: Attribution }) | Refused;
type Refused = Extract<Checked<unknown>, { ok: false }>;

/** The request, and the key, user and metadata that it is attributed to. */
function checkStart(
  kind: AnyKind,
  call: CallContext,
  { body, models }: { body: Record<string, unknown> } & Pick<StartOptions, 'models'>,
): CheckedStart {
  const checked = checkRequest(kind, body, { models, caller: call.principal, dialect: call.dialect });
  if (!checked.ok) return checked;
  try {
    return { ...checked, attribution: attributionOf(call, body) };
  } catch (error) {
    if (error instanceof ApiError) return { ok: false, fault: error };
    throw error;
  }
}

/** Reads and stores the inputs; those of a refused request are removed. */
async function prepare(
  options: StartOptions,
  call: CallContext,
  { draft, full }: { draft: Draft; full: ApiError | null },
): Promise<Draft> {
  const { kind, input, jobId } = draft;
  try {
    const prepared = await readInputs(call, async (reading) => kind.prepare?.(reading, input, { jobId }));
    if (full !== null) throw full;
    return { ...draft, ...prepared };
  } catch (error) {
    await removeInputs(options, call, draft);
    return failed(kind, error);
  }
}

/** Takes the slots first, so that 429 comes before the error. */
async function refuse(fault: ApiError, takeSlots: () => Promise<unknown>): Promise<never> {
  await takeSlots();
  throw fault;
}

/** A server fault (a full disk) has the endpoint's own message (contract 7.4). */
function failed({ job: { failureMessage } }: AnyKind, error: unknown): never {
  throw error instanceof ApiError ? error : new ApiError('server_error', failureMessage, { cause: error });
}

function operationOf(
  { models }: Pick<StartOptions, 'models'>,
  caller: ModelCaller,
  { kind, model, input, jobId, operationId }: Draft,
): OperationRequest {
  const { exhaustedMessage } = kind.job;
  return {
    id: operationId,
    kind: kind.name,
    price: kind.price(input, model),
    model: model.id,
    jobId,
    costBound: () => costBound({ models, caller }, model, { units: kind.units(input) }),
    ...(exhaustedMessage === null ? {} : { exhaustedMessage }),
  };
}

interface Admission {
  draft: Draft;
  /** The slots that the request has taken so far. */
  slots: CallSlots;
  /** Taken in the same statement. */
  windows: { endpoint?: LimitedEndpoint | undefined };
}

/** Reserves the price and creates the job. A request that is refused for too many pending jobs was not admitted, so a retry is checked again. */
async function admitJob(options: StartOptions, call: CallContext, admission: Admission): Promise<Job> {
  const { draft, slots } = admission;
  const before = call.admitted;
  try {
    await reserve(options, call, admission);
    return await createJob(options, call, draft);
  } catch (error) {
    if (error instanceof ApiError && isTooMany(error)) {
      call.admitted = before ?? false;
      await slots.returnTo(options.metering, call);
    }
    throw error;
  }
}

/** Whether an error of `admitJob` is `Too many pending jobs`: a 429 of the windows took no slot, so there is none to return. */
const isTooMany = ({ code }: ApiError): boolean => code === 'rate_limited';

async function reserve(
  options: StartOptions,
  call: CallContext,
  { draft, slots, windows }: Admission,
): Promise<void> {
  try {
    await admitCall(options.metering, call, {
      ...windows,
      slots,
      operation: operationOf(options, call.principal, draft),
      attribution: draft.attribution,
    });
  } catch (error) {
    await removeInputs(options, call, draft);
    throw error;
  }
}

async function createJob(options: StartOptions, call: CallContext, draft: Draft): Promise<Job> {
  const { kind, model, input } = draft;
  try {
    return await options.jobs.create({
      id: draft.jobId,
      principal: call.principal,
      tool: kind.name,
      model: model.id,
      modelTier: model.tier,
      multiplier: model.multiplier,
      inputParams: kind.inputParams(input, model),
      estimatedCredits: (kind.price(input, model).credits ?? 0) / 100,
      operationId: draft.operationId,
      requestId: call.requestId,
      client: call.client,
      countedFor: countedFor({
        ...call,
        operation: operationOf(options, call.principal, draft),
        attribution: draft.attribution,
      }),
      fileIds: draft.fileIds,
      ...(call.idempotencyKey === null ? {} : { idempotencyKey: call.idempotencyKey }),
      ...(call.live === undefined ? {} : { live: call.live.liveOptions }),
    });
  } catch (error) {
    await undo(options, call, { draft, error });
    throw error;
  }
}

/**
 * Releases the reservation of a failed creation and removes its input files, unless the creation was committed and only PostgreSQL's answer was
 * lost. A caller that has already waited for PostgreSQL does not wait for this too.
 */
async function undo(options: StartOptions, call: CallContext, { draft, error }: Failed): Promise<void> {
  const { jobs, metering } = options;
  const isStored = async () => (await jobs.getMany(call.principal.orgId, [draft.jobId])).length > 0;
  const undone = metering
    .releaseUnless(draft.operationId, isStored)
    .then((released) => (released ? removeInputs(options, call, draft) : undefined));
  if (!(error instanceof ApiError && error.code === 'unavailable')) await undone;
}

interface Failed {
  draft: Draft;
  error: unknown;
}

/** The inputs of a job that was not created. */
async function removeInputs(
  { files }: StartOptions,
  call: CallContext,
  { kind, jobId }: Draft,
): Promise<void> {
  if (kind.prepare !== undefined) await files.removeFilesOfFailedWork(call.principal.orgId, jobId);
}

/** Reads a call's inputs, under the organisation's share of the semaphore and within the caller's time limit. @throws ApiError */
export async function readInputs<T>(
  call: CallContext,
  read: (reading: CallContext) => Promise<T>,
): Promise<T> {
  return await withinInputTime(call.signal, (signal) =>
    runForOrg(call.principal.orgId, () => read({ ...call, signal })),
  );
}
