import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { ApiError, invalid } from '../../src/contract/errors.js';
import type { CallContext } from '../../src/metering/index.js';
import type { Bucket } from '../../src/contract/words.js';
import { createGenerationEngine } from '../support/generation.js';
import type { GenerationEngine } from '../support/generation.js';
import { eventually } from '../support/wait.js';

let engine: GenerationEngine;

beforeAll(async () => {
  engine = await createGenerationEngine({
    plans: {
      plans: {
        pro_monthly: { limits: { image_generations: 3 }, maxPendingJobs: 2 },
        free: { limits: { image_generations: 5 } },
      },
      endpointLimits: { image: { limit: 5, windowSeconds: 60 } },
    },
  });
});

afterAll(async () => await engine.close());

const small = { prompt: 'a fox', size: '512x512' };

async function refusal(promise: Promise<unknown>): Promise<ApiError> {
  return await promise.then(
    () => {
      throw new Error('it was not refused');
    },
    (error: unknown) => error as ApiError,
  );
}

/** Slots that are taken of each window of a key. */
const SLOTS = `SELECT name, cardinality(array_remove(stamps, 0)) AS slots FROM rate_windows WHERE key_id = $1 ORDER BY name`;

async function used(orgId: string, bucket: Bucket): Promise<[used: number, remaining: number]> {
  const { [bucket]: state } = await engine.metering.balances(orgId);
  return [state.used, state.remaining];
}

describe('a generation', () => {
  it('is a job that is charged once, exactly, and answers with its result', async () => {
    const { orgId, call } = await engine.createOrg();
    const answer = await engine.generation.generate(
      'image',
      await call(),
      { ...small, n: 3, upscale: '2x' },
      { async: false },
    );
    expect(answer).toMatchObject({
      job: { status: 'completed', progress: 100, estimatedCredits: 5, actualCredits: 5, tool: 'image' },
      model: 'sandbox/image-standard',
      modelTier: 'standard',
      usage: {
        credits_used: 5,
        credits_breakdown: { base: 3 },
        generations_used: 3,
        generations_remaining: 597,
      },
    });
    expect(answer.data).toHaveLength(3);
    expect(await used(orgId, 'image_generations')).toEqual([3, 597]);
    expect(await used(orgId, 'credits')).toEqual([5, 795]);
    const { nodes } = await engine.usage.records({ orgId, first: 10 });
    expect(nodes).toMatchObject([
      {
        state: 'settled',
        operation: 'image',
        jobId: answer.job.id,
        amounts: { credits: 500, image_generations: 300 },
      },
    ]);
  });

  it('answers at once when asynchronous, and the same afterwards as a synchronous one', async () => {
    const { orgId, call } = await engine.createOrg();
    const accepted = await engine.generation.generate('image', await call(), small, { async: true });
    expect(accepted).toMatchObject({ job: { status: 'pending' }, data: null, usage: null });
    const job = await engine.jobs.wait(orgId, accepted.job.id, { timeoutMs: 10_000 });
    expect(await engine.generation.answerOf(job)).toMatchObject({
      data: [{ width: 512, height: 512, revised_prompt: 'a fox' }],
      usage: { generations_used: 1, generations_remaining: 599 },
    });
    expect(job.inputParams).toEqual({
      prompt: 'a fox',
      model: 'sandbox/image-standard',
      size: '512x512',
      n: 1,
      style: 'vivid',
      upscale: 'none',
      response_format: 'url',
    });
  });

  it('waits for the job of an earlier request in the place of making one', async () => {
    const { orgId, call } = await engine.createOrg();
    const first = await engine.generation.generate('image', await call(), small, { async: true });
    const resumed = await call({ boundIds: [first.job.id] });
    const again = await engine.generation.generate('image', resumed, small, { async: false });
    expect(again.job).toMatchObject({ id: first.job.id, status: 'completed' });
    expect(await used(orgId, 'image_generations')).toEqual([1, 599]);
    expect(resumed.keyWindowOpen).toBe(true);
  });

  it('is priced without being done', async () => {
    const { orgId, call } = await engine.createOrg();
    expect(
      await engine.generation.estimate('image', await call(), { ...small, n: 4, upscale: '4x' }),
    ).toEqual({
      model: 'sandbox/image-standard',
      modelTier: 'standard',
      amounts: { image_generations: 400, credits: 900 },
    });
    expect(await used(orgId, 'credits')).toEqual([0, 800]);
  });
});

describe('a refusal', () => {
  it('comes in the order rate, plan, validation, quota', async () => {
    const { call } = await engine.createOrg('free');
    const refused = async (body: object) =>
      (await refusal(engine.generation.generate('image', await call(), { ...body }, { async: true })))
        .message;
    expect(await refused({ n: 99 })).toBe('Model tier not allowed');
    expect(await refused({ ...small, n: 99, model: 'sandbox/image-basic' })).toBe(
      'n must be a whole number from 1 to 10',
    );
    expect(await refused({ ...small, n: 6, model: 'sandbox/image-basic' })).toBe(
      'Quota exceeded for image_generations',
    );
    expect(await refused({ model: 'no/such' })).toBe('Unknown model: no/such');
    expect(await refused({ model: 7 })).toBe('model must be a string');
    const limited = await refusal(
      engine.generation.generate('image', await call(), { n: 99 }, { async: true }),
    );
    expect(limited).toMatchObject({ code: 'rate_limited', status: 429 });
    expect(limited.details.retryAfter).toBeGreaterThanOrEqual(1);
  });

  it('takes its slots all the same, charges nothing, and tells the window', async () => {
    const { orgId, call } = await engine.createOrg();
    const refusedCall = await call();
    await refusal(engine.generation.generate('image', refusedCall, {}, { async: true }));
    expect(refusedCall).toMatchObject({ keyWindowOpen: false, rate: { limit: 5, remaining: 4 } });
    expect(refusedCall.admitted).toBeUndefined();
    const field = await call({ keyWindowOpen: false });
    await engine.generation.generate('image', field, small, { async: true });
    expect(field).toMatchObject({ admitted: true, rate: { limit: 5, remaining: 3 } });
    expect((await used(orgId, 'image_generations'))[0]).toBeLessThanOrEqual(1);
  });

  it('for too many pending jobs is a 429 before plan, fields and quota, reserves nothing and takes no slot', async () => {
    const { orgId, call } = await engine.createOrg('pro_monthly');
    const slow = { ...small, prompt: '@sandbox{"delay_ms":60000}' };
    const ask = async (body: object, own: CallContext) =>
      await engine.generation.generate('image', own, { ...body }, { async: true });
    const outcomes = await Promise.allSettled([1, 2, 3].map(async () => await ask(slow, await call())));
    const jobs = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.job] : []));
    expect(jobs).toHaveLength(2);
    const tooMany = { code: 'rate_limited', message: 'Too many pending jobs' };
    expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({ reason: tooMany });
    const operations = async () =>
      await engine.test.database.system.query(
        'SELECT operation_id FROM usage_ledger WHERE org_id = $1 ORDER BY operation_id',
        [orgId],
      );
    const before = await operations();
    const powerful = { ...small, model: 'sandbox/image-powerful' };
    for (const body of [slow, { ...slow, n: 3 }, {}, powerful]) {
      const refused = await call();
      expect(await refusal(ask(body, refused))).toMatchObject(tooMany);
      expect(refused.rate).toBeNull();
      const field = await call({ keyWindowOpen: false, rate: { limit: 9, remaining: 8, reset: 7 } });
      expect(await refusal(ask(body, field))).toMatchObject(tooMany);
      expect(field.rate).toEqual({ limit: 9, remaining: 8, reset: 7 });
    }
    expect(await operations()).toEqual(before);
    expect(await used(orgId, 'image_generations')).toEqual([0, 1]);
    for (const { id } of jobs) await engine.jobs.cancel(orgId, id);
    expect(await used(orgId, 'image_generations')).toEqual([0, 3]);
    const next = await call();
    await ask(slow, next);
    expect(next.rate).toMatchObject({ limit: 5, remaining: 2 });
    expect(await engine.test.database.system.query(SLOTS, [next.principal.keyId])).toEqual([
      { name: 'image', slots: 3 },
      { name: 'key', slots: 3 },
    ]);
  });

  it('of more than is left reserves nothing, however many ask at once', async () => {
    const { orgId, call } = await engine.createOrg('pro_monthly');
    const slow = { ...small, n: 2, prompt: '@sandbox{"delay_ms":60000}' };
    const outcomes = await Promise.allSettled(
      Array.from(
        { length: 5 },
        async () => await engine.generation.generate('image', await call(), slow, { async: true }),
      ),
    );
    const accepted = outcomes.filter((outcome) => outcome.status === 'fulfilled');
    expect(accepted).toHaveLength(1);
    for (const outcome of outcomes.filter((other) => other.status === 'rejected'))
      expect(outcome.reason).toMatchObject({ code: 'quota_exceeded', details: { remaining: 1 } });
    for (const outcome of accepted) await engine.jobs.cancel(orgId, outcome.value.job.id);
  });
});

describe('a job that could not be stored', () => {
  const away = () => new ApiError('unavailable', 'Service temporarily unavailable');
  afterEach(() => vi.restoreAllMocks());

  it('gives back what it reserved as soon as the database answers, though the process lives on', async () => {
    const { orgId, call } = await engine.createOrg();
    const create = vi.spyOn(engine.jobs, 'create').mockRejectedValueOnce(away());
    const look = vi.spyOn(engine.jobs, 'getMany').mockRejectedValueOnce(away());
    const refused = await refusal(engine.generation.generate('image', await call(), small, { async: true }));
    expect(refused.code).toBe('unavailable');
    expect(create).toHaveBeenCalledTimes(1);
    await eventually(async () => (await used(orgId, 'image_generations'))[1] === 600);
    expect(look).toHaveBeenCalledTimes(2);
  });

  it('keeps its reservation where it was stored, and only the answer was lost', async () => {
    const { orgId, call } = await engine.createOrg();
    const create = engine.jobs.create.bind(engine.jobs);
    vi.spyOn(engine.jobs, 'create').mockImplementationOnce(async (job) => {
      await create(job);
      throw away();
    });
    const refused = await refusal(engine.generation.generate('image', await call(), small, { async: true }));
    expect(refused.code).toBe('unavailable');
    await eventually(async () => (await used(orgId, 'image_generations'))[0] === 1);
    const { nodes } = await engine.usage.records({ orgId, first: 10 });
    expect(nodes).toMatchObject([{ state: 'settled', operation: 'image' }]);
  });
});

describe('a synchronous caller', () => {
  const slow = { ...small, prompt: '@sandbox{"delay_ms":60000}' };
  const nextJob = async (orgId: string) =>
    await expect
      .poll(async () => (await engine.jobs.list(orgId, { pending: true, first: 1 })).nodes[0]?.status)
      .toBe('processing')
      .then(async () => (await engine.jobs.list(orgId, { pending: true, first: 1 })).nodes[0]?.id ?? '');

  it('is told when the job is cancelled meanwhile, and nothing is charged', async () => {
    const { orgId, call } = await engine.createOrg();
    const waiting = refusal(engine.generation.generate('image', await call(), slow, { async: false }));
    const id = await nextJob(orgId);
    await engine.jobs.cancel(orgId, id);
    expect(await waiting).toMatchObject({
      code: 'conflict',
      status: 409,
      message: 'Job was cancelled',
      details: { headers: { 'X-Job-Id': id } },
    });
    expect(await used(orgId, 'image_generations')).toEqual([0, 600]);
  });

  it('is told when the work fails, and nothing is charged', async () => {
    const { orgId, call } = await engine.createOrg();
    const failing = { ...small, prompt: '@sandbox{"fail":"no luck"}' };
    const error = await refusal(engine.generation.generate('image', await call(), failing, { async: false }));
    expect(error).toMatchObject({ code: 'server_error', status: 500, message: 'Generation failed' });
    expect(error.details.headers?.['X-Job-Id']).toMatch(/^job_/);
    expect(await used(orgId, 'image_generations')).toEqual([0, 600]);
  });

  it('that hangs up leaves its job running', async () => {
    const { orgId, call } = await engine.createOrg();
    const gone = new AbortController();
    const brief = { ...small, prompt: '@sandbox{"delay_ms":300}' };
    const waiting = refusal(
      engine.generation.generate('image', await call({ signal: gone.signal }), brief, { async: false }),
    );
    const id = await nextJob(orgId);
    gone.abort();
    expect(await waiting).toMatchObject({ status: 503 });
    expect(await engine.jobs.wait(orgId, id, { timeoutMs: 10_000 })).toMatchObject({ status: 'completed' });
  });
});

describe('a generation with input files', () => {
  it('takes its slots, then reads them, then reserves; without a job they are removed again', async () => {
    const steps: string[] = [];
    const withInput = await createGenerationEngine({
      plans: {
        plans: { pro_monthly: { limits: { image_generations: 1 } } },
        endpointLimits: { image: { limit: 4, windowSeconds: 60 } },
      },
      adapt: (kind, files) => ({
        ...kind,
        async prepare(call, input, { jobId }) {
          steps.push('read');
          if ((input as { prompt: string }).prompt === 'bad') throw invalid('Could not fetch image', 'image');
          const { orgId } = call.principal;
          const file = await files.service.save({
            orgId,
            bytes: Buffer.from('x'),
            contentType: 'image/png',
            jobId,
          });
          return { input, fileIds: [file.id] };
        },
      }),
    });
    try {
      const { orgId, call } = await withInput.createOrg('pro_monthly');
      const count = async () =>
        (await withInput.test.database.system.query('SELECT id FROM files WHERE org_id = $1', [orgId]))
          .length;
      const ask = async (body: object) =>
        await withInput.generation.generate('image', await call(), { ...small, ...body }, { async: true });
      expect(await refusal(ask({ n: 99 }))).toMatchObject({ status: 400 });
      expect(steps).toEqual([]);
      expect(await refusal(ask({ prompt: 'bad' }))).toMatchObject({
        status: 400,
        message: 'Could not fetch image',
      });
      expect(await refusal(ask({ n: 2 }))).toMatchObject({ status: 402 });
      expect(await count()).toBe(0);
      const { job } = await ask({ prompt: '@sandbox{"delay_ms":60000}' });
      expect(await count()).toBe(1);
      expect(steps).toEqual(['read', 'read', 'read']);
      expect(await refusal(ask({}))).toMatchObject({ status: 429 });
      expect(steps).toHaveLength(3);
      await withInput.jobs.cancel(orgId, job.id);
    } finally {
      await withInput.close();
    }
  });
});

describe('a process that is limited or stops', () => {
  it('answers Still processing with the job after the longest wait', async () => {
    const patient = await createGenerationEngine({ env: { SYNC_TIMEOUT_MS: '1000' }, paused: true });
    try {
      const { orgId, call } = await patient.createOrg();
      const error = await refusal(
        patient.generation.generate('image', await call(), small, { async: false }),
      );
      expect(error).toMatchObject({ status: 503, message: 'Still processing' });
      expect(error.details.retryAfter).toBeGreaterThanOrEqual(1);
      const id = error.details.headers?.['X-Job-Id'] ?? '';
      expect((await patient.jobs.get(orgId, id)).status).toBe('pending');
    } finally {
      await patient.close();
    }
  });

  it('answers Still processing at once when it drains', async () => {
    const draining = await createGenerationEngine({ paused: true });
    try {
      const { call } = await draining.createOrg();
      const waiting = refusal(draining.generation.generate('image', await call(), small, { async: false }));
      await sleep(100);
      draining.drain();
      expect(await waiting).toMatchObject({ status: 503, message: 'Still processing' });
    } finally {
      await draining.close();
    }
  });
});
