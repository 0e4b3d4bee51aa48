import { describe, expect, it } from 'vitest';
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
});
