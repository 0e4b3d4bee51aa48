import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
let client: OpenAI;

beforeAll(async () => {
  server = await startPenstock({
    plans: { endpointLimits: { chat: { limit: 1000, windowSeconds: 60 } } },
  });
  const { key } = await server.createOrg({ plan: 'business_monthly' });
  client = new OpenAI({ apiKey: key, baseURL: `${server.origin}/v1`, maxRetries: 0 });
});
afterAll(() => server?.close());

const model = 'sandbox/chat-basic';
const prompt = 'Once upon a time @sandbox{"tokens":12}';

describe('a completion, as the official client asks for it', () => {
  it('is a text with its usage', async () => {
    const answer = await client.completions.create({ model: 'chat-basic', prompt: [prompt] });
    expect(answer).toMatchObject({
      object: 'text_completion',
      model,
      choices: [{ index: 0, logprobs: null, finish_reason: 'stop' }],
    });
    expect(answer.choices[0]?.text).not.toBe('');
    expect(answer.usage?.total_tokens).toBe(
      (answer.usage?.prompt_tokens ?? 0) + (answer.usage?.completion_tokens ?? 0),
    );
  });

  it('streams the same text, its usage in a last chunk where it is asked for', async () => {
    const whole = await client.completions.create({ model, prompt });
    for (const include_usage of [false, true]) {
      const stream = await client.completions.create({
        model,
        prompt,
        stream: true,
        stream_options: { include_usage },
      });
      const chunks: OpenAI.Completion[] = [];
      for await (const chunk of stream) chunks.push(chunk);
      expect(chunks.map(({ choices }) => choices[0]?.text ?? '').join('')).toBe(whole.choices[0]?.text);
      const ends = chunks.flatMap(({ choices }) => choices.map((choice) => choice.finish_reason));
      expect(ends.filter(Boolean)).toEqual(['stop']);
      const usages = chunks.flatMap(({ usage }) => usage?.total_tokens ?? []);
      expect(usages).toEqual(include_usage ? [whole.usage?.total_tokens] : []);
    }
  });

  it('is given again, whole and streamed, to a retry with its Idempotency-Key', async () => {
    for (const stream of [false, true]) {
      const ask = () =>
        server.raw('/v1/completions', {
          method: 'POST',
          headers: {
            authorization: `Bearer ${client.apiKey}`,
            'content-type': 'application/json',
            'idempotency-key': `again-${stream}`,
          },
          body: JSON.stringify({ model, prompt, stream }),
        });
      const [first, again] = [await ask(), await ask()];
      const text = await first.body.text();
      expect(text).toContain('text_completion');
      expect(await again.body.text()).toBe(text);
      expect(again.headers['idempotent-replayed']).toBe('true');
    }
  });

  it('refuses what cannot be done, by its name', async () => {
    const cases: [object, string, string][] = [
      [{}, 'prompt', 'prompt is required'],
      [{ prompt: ['a', 'b'] }, 'prompt', 'prompt must be a string, or an array of one string'],
      [{ prompt: [[1, 2]] }, 'prompt', 'prompt must be a string, or an array of one string'],
      [{ prompt, echo: true }, 'echo', 'echo is not supported'],
      [{ prompt, logprobs: 0 }, 'logprobs', 'logprobs is not supported'],
      [{ prompt, suffix: 'x' }, 'suffix', 'suffix is not supported'],
      [{ prompt, best_of: 2 }, 'best_of', 'best_of is not supported'],
      [{ prompt, n: 2 }, 'n', 'n must be 1'],
    ];
    for (const [body, param, message] of cases) {
      const asked = client.completions.create({
        model,
        ...body,
      } as OpenAI.CompletionCreateParamsNonStreaming);
      const fault = await asked.then(
        () => null,
        (error: unknown) => error,
      );
      expect(fault).toBeInstanceOf(OpenAI.BadRequestError);
      expect(fault).toMatchObject({ param, type: 'invalid_request_error', error: { message } });
    }
    const nothing = { echo: false, logprobs: null, suffix: null, best_of: 1, n: 1, user: 'u' };
    expect((await client.completions.create({ model, prompt, ...nothing })).object).toBe('text_completion');
  });
});
