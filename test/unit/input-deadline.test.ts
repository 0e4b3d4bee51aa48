import { afterEach, describe, expect, it, vi } from 'vitest';
import { readAttachments } from '../../src/agents/runs/run.attachments.js';
import type { AttachmentInput } from '../../src/agents/runs/run.input.js';
import { createInputFetcher, inputDeadline } from '../../src/files/index.js';

type Parts = Parameters<typeof createInputFetcher>[0];

/** A fetcher whose downloads only tell how long they may take, and whose callers have no file of their own. */
function fetcher(): { asked: number[]; inputs: ReturnType<typeof createInputFetcher> } {
  const asked: number[] = [];
  const egress = {
    checkUrl: (url: string) => new URL(url),
    request: (_url: string, { totalTimeoutMs }: { totalTimeoutMs: number }) => {
      asked.push(totalTimeoutMs);
      return Promise.resolve({ status: 200, headers: {}, body: Buffer.from('x') });
    },
  } as unknown as Parts['egress'];
  const files = { resolveOwn: () => Promise.resolve(null) } as unknown as Parts['files'];
  return { asked, inputs: createInputFetcher({ egress, files }) };
}

const PICTURE = { orgId: 'org', value: 'http://a.test/x.png', field: 'mask', maxMb: 1 };

afterEach(() => void vi.useRealTimers());

describe('the inputs of one call', () => {
  it('have 30 seconds together: each has what those before it left', async () => {
    const { asked, inputs } = fetcher();
    const deadline = inputDeadline();
    await inputs.fetch({ ...PICTURE, deadline });
    await inputs.fetch({ ...PICTURE, deadline: deadline - 20_000 });
    expect(asked).toEqual([expect.closeTo(30_000, -3), expect.closeTo(10_000, -3)]);
  });

  it('are refused with the field named, and not asked for, when nothing is left', async () => {
    const { asked, inputs } = fetcher();
    await expect(inputs.fetch({ ...PICTURE, deadline: performance.now() })).rejects.toMatchObject({
      code: 'invalid_request',
      message: 'Could not fetch mask',
    });
    expect(asked).toEqual([]);
  });

  it('have them together as the attachments of a run too, and reading one takes nothing from the others', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const left: number[] = [];
    const inputs = {
      fetch: ({ deadline = Number.NaN }) => {
        left.push(deadline - performance.now());
        vi.advanceTimersByTime(10_000);
        return Promise.resolve({ bytes: Buffer.from('text'), contentType: null });
      },
    };
    const knowledge = {
      extract: () => {
        vi.advanceTimersByTime(31_000);
        return Promise.resolve({ text: 'text', cut: false });
      },
    };
    const call = {
      principal: { orgId: 'org', plan: { agents: { maxKnowledgeFileMb: 1 }, storage: { maxMb: -1 } } },
      signal: new AbortController().signal,
    };
    const [options, context] = [{ inputs, knowledge, files: {} }, call] as unknown[] as [
      Parameters<typeof readAttachments>[0],
      Parameters<typeof readAttachments>[1],
    ];
    const document: AttachmentInput = { type: 'document', url: 'http://a.test/a.txt', name: 'a.txt' };
    await readAttachments(options, context, { runId: 'run', attachments: [document, document] });
    expect(left).toEqual([30_000, 20_000]);
  });
});
