import { isUnionType } from 'graphql';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildPenstockSchema } from '../../schema/index.js';
import { startPenstock, type TestServer } from '../support/server.js';

const JOBS = `{ jobs(first: 20) { nodes {
  tool outputData
  input {
    __typename
    ... on ImageJobInput { modelId prompt size n format }
    ... on ImageEditJobInput { modelId prompt image operation }
    ... on VideoJobInput { modelId prompt mode durationSeconds }
    ... on MusicJobInput { modelId prompt mode durationSeconds format }
    ... on SpeechJobInput { modelId text voice format }
    ... on TranscriptionJobInput { modelId file language format }
  }
  output {
    __typename
    ... on ImageOutput { images { url width height } }
    ... on ImageEditOutput { images { url width height } }
    ... on VideoOutput { url durationSeconds width height }
    ... on MusicOutput { url durationSeconds }
    ... on SpeechOutput { url durationSeconds characterCount }
    ... on TranscriptionOutput { text segments { start end text words { word } } language durationSeconds format content }
  }
} } }`;

interface Shown {
  tool: string;
  outputData: Record<string, unknown>;
  input: Record<string, unknown>;
  output: Record<string, unknown>;
}

describe('a job', () => {
  let server: TestServer;
  let key: string;
  let jobs: Map<string, Shown>;
  beforeAll(async () => {
    server = await startPenstock();
    ({ key } = await server.createOrg({ plan: 'business_monthly' }));
    const post = async (path: string, body: object) => {
      const answer = await server.rest<{ audio_url: string }>('POST', path, { key, body });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      return answer.body;
    };
    await post('/images/generations', { prompt: 'a dam', size: '512x512', response_format: 'b64_json' });
    const plain = sharp({ create: { width: 64, height: 64, channels: 3, background: '#888' } });
    const image = (await plain.png().toBuffer()).toString('base64');
    await post('/images/edits', { image, operation: 'colorization' });
    await post('/videos/generations', { prompt: 'a lock', duration_seconds: 1 });
    await post('/music/generations', { prompt: 'a river', duration_seconds: 1 });
    const speech = await post('/audio/speech', { input: 'Open it.', voice: 'nova' });
    await post('/audio/transcriptions', { file: speech.audio_url, response_format: 'srt' });
    const { data, errors } = await server.graphql<{ jobs: { nodes: Shown[] } }>(JOBS, { key });
    expect(errors).toEqual([]);
    jobs = new Map(data!.jobs.nodes.map((job) => [job.tool, job]));
  });
  afterAll(() => server?.close());

  const url = expect.stringMatching(/^http.*\/files\//) as string;
  it.each([
    ['image', 'ImageOutput', { images: [{ url, width: 512, height: 512 }] }],
    ['image_edit', 'ImageEditOutput', { images: [{ url, width: 64, height: 64 }] }],
    ['video', 'VideoOutput', { url, durationSeconds: 1, width: 1280, height: 720 }],
    ['music', 'MusicOutput', { url, durationSeconds: 1 }],
    ['tts', 'SpeechOutput', { url, durationSeconds: expect.any(Number) as number, characterCount: 8 }],
    ['stt', 'TranscriptionOutput', { format: 'srt', content: expect.stringContaining('-->') as string }],
  ])('of the tool %s has its output typed: %s', (tool, __typename, output) => {
    expect(jobs.get(tool)?.output).toMatchObject({ __typename, ...output });
  });

  it.each([
    ['image', 'ImageJobInput', { prompt: 'a dam', size: '512x512', n: 1 }],
    ['image_edit', 'ImageEditJobInput', { image: url, operation: 'colorization' }],
    ['video', 'VideoJobInput', { prompt: 'a lock', mode: 'text_to_video', durationSeconds: 1 }],
    [
      'music',
      'MusicJobInput',
      { prompt: 'a river', mode: 'text_to_music', durationSeconds: 1, format: 'mp3' },
    ],
    ['tts', 'SpeechJobInput', { text: 'Open it.', voice: 'nova', format: 'mp3' }],
    ['stt', 'TranscriptionJobInput', { file: url, language: 'auto', format: 'srt' }],
  ])('of the tool %s has its input typed: %s', (tool, __typename, input) => {
    expect(jobs.get(tool)?.input).toMatchObject({
      __typename,
      modelId: expect.stringContaining('/') as string,
      ...input,
    });
  });

  it('names its own model in an input that was stored without one', async () => {
    await server.services.database.system.query("UPDATE jobs SET input_params = input_params - 'model'");
    const query =
      '{ jobs(first: 20) { nodes { modelId input { ... on VideoJobInput { modelId prompt } } } } }';
    const { data, errors } = await server.graphql<{
      jobs: { nodes: { modelId: string; input: { modelId?: string; prompt?: string } }[] };
    }>(query, { key });
    expect(errors).toEqual([]);
    const video = data!.jobs.nodes.find(({ input }) => input.prompt === 'a lock');
    expect(video?.input.modelId).toBe(video?.modelId);
  });

  it.each(['JobOutput', 'JobInput'])('has one type for each name of a field in %s', (name) => {
    const union = buildPenstockSchema().getType(name);
    if (!isUnionType(union)) throw new Error(`${name} is no union`);
    const types: Record<string, string[]> = {};
    for (const member of union.getTypes())
      for (const field of Object.values(member.getFields()))
        types[field.name] = [...new Set([...(types[field.name] ?? []), String(field.type)])];
    expect(Object.entries(types).filter(([, each]) => each.length > 1)).toEqual([]);
  });
});
