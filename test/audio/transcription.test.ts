import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { downloadFrom, flacOf, m4aOf, samplesOf, silentFlacOf, waveOf, webmOf } from '../support/audio.js';
import { startPenstock, type TestServer } from '../support/server.js';

const TEXT = 'The quick brown fox jumps over the lazy dog. Then it sleeps in the warm sun.';

interface Word {
  word: string;
  start: number;
  end: number;
}
interface Transcript {
  created: number;
  text: string;
  segments: { start: number; end: number; text: string; speaker: string | null; words?: Word[] }[];
  language: string;
  duration: number;
  model: string;
  model_tier: string;
  usage: { seconds_used: number; quota_multiplier: number; seconds_remaining: number };
}

let server: TestServer;
let org: Awaited<ReturnType<TestServer['createOrg']>>;
let free: Awaited<ReturnType<TestServer['createOrg']>>;
let stranger: Awaited<ReturnType<TestServer['createOrg']>>;
const spoken = new Map<string, Buffer>();

beforeAll(async () => {
  const window = { limit: 1000, windowSeconds: 60 };
  server = await startPenstock({ plans: { endpointLimits: { tts: window, stt: window } } });
  org = await server.createOrg({ plan: 'business_monthly' });
  free = await server.createOrg({ plan: 'free' });
  stranger = await server.createOrg({ plan: 'business_monthly' });
  for (const format of ['wav', 'mp3', 'opus', 'aac'] as const)
    spoken.set(format, await say({ input: TEXT, response_format: format }));
}, 60_000);
afterAll(() => server?.close());

async function say(body: object): Promise<Buffer> {
  const answer = await server.rest<{ audio_url: string }>('POST', '/audio/speech', { key: org.key, body });
  return (await downloadFrom(server.origin, answer.body.audio_url)).bytes;
}

const sound = (format: string): Buffer => spoken.get(format) ?? Buffer.alloc(0);

async function transcribe(file: Buffer, more: object = {}, key = org.key): Promise<Transcript> {
  const body = { file: file.toString('base64'), ...more };
  const answer = await server.rest<Transcript>('POST', '/audio/transcriptions', { key, body });
  expect(answer.body).not.toHaveProperty('error');
  return answer.body;
}

describe('a transcription', () => {
  it('answers as the contract has it, charged by whole seconds', async () => {
    const answer = await transcribe(sound('mp3'), { model: 'sandbox/stt-standard' });
    expect(answer).toEqual({
      created: expect.any(Number) as number,
      text: TEXT,
      segments: expect.any(Array) as [],
      language: 'en',
      duration: expect.any(Number) as number,
      model: 'sandbox/stt-standard',
      model_tier: 'standard',
      usage: {
        seconds_used: Math.ceil(answer.duration) * 1.25,
        quota_multiplier: 1.25,
        seconds_remaining: expect.any(Number) as number,
      },
    });
    for (const segment of answer.segments) {
      expect(Object.keys(segment)).toEqual(['start', 'end', 'text', 'speaker']);
      expect(segment.speaker).toBeNull();
      expect(segment.end).toBeGreaterThan(segment.start);
      expect(segment.end).toBeLessThanOrEqual(answer.duration + 0.1);
    }
    expect(answer.segments.map(({ text }) => text).join(' ')).toBe(TEXT);
  });

  it.each(['wav', 'mp3', 'opus', 'aac'])(
    'gives back the words of the sandbox voice in %s',
    async (format) => {
      const { text, language } = await transcribe(sound(format));
      expect([text, language]).toEqual([TEXT, 'en']);
    },
  );

  it.each(['WAV', 'MP3', 'M4A', 'MOV', 'FLAC', 'OGG', 'WebM'])(
    'knows what its organisation had spoken again in %s without a tag; of others’ sound it hears segments and invents no words',
    async (format) => {
      const samples = samplesOf(sound('wav'));
      const silence = new Int16Array(16_000);
      const clip = Int16Array.from([...silence, ...samples, ...silence, ...samples]);
      const files: Record<string, () => Buffer | Promise<Buffer>> = {
        WAV: () => waveOf(clip),
        MP3: () => stripped(sound('mp3')),
        M4A: () => m4aOf(clip),
        MOV: () => m4aOf(clip, 'pcm-s16'),
        FLAC: () => flacOf(clip),
        OGG: () => stripped(sound('opus')),
        WebM: () => webmOf(stripped(sound('opus'))),
      };
      const file = (await files[format]?.()) ?? Buffer.alloc(0);
      const isTwice = !['MP3', 'OGG', 'WebM'].includes(format);
      expect(await transcribe(file)).toMatchObject({
        text: isTwice ? `${TEXT} ${TEXT}` : TEXT,
        language: 'en',
      });
      const answer = await transcribe(file, {}, stranger.key);
      expect(answer.segments.length).toBeGreaterThan(0);
      expect(new Set(answer.segments.map(({ text }) => text))).toEqual(new Set(['[speech]']));
      expect(answer.language).toBe('und');
      if (!isTwice) return;
      expect(answer.duration).toBeCloseTo(clip.length / 16_000, 0);
      expect(answer.segments[0]?.start).toBeGreaterThan(0.9);
      expect(answer.segments[0]?.start).toBeLessThan(1.3);
    },
  );

  it('reads RF64, as recorders write it', async () => {
    const wave = waveOf(samplesOf(sound('wav')));
    const sizes = Buffer.alloc(36);
    sizes.write('ds64', 'latin1');
    sizes.writeUInt32LE(28, 4);
    sizes.writeBigUInt64LE(BigInt(wave.length + 28), 8);
    sizes.writeBigUInt64LE(BigInt(wave.length - 44), 16);
    const file = Buffer.concat([wave.subarray(0, 12), sizes, wave.subarray(12)]);
    file.write('RF64', 'latin1');
    for (const at of [4, 36 + 40]) file.writeUInt32LE(0xffffffff, at);
    expect(await transcribe(file)).toMatchObject({ text: TEXT });
  });

  it('gives no words to a part of what was spoken, nor to other words in the same voice', async () => {
    const samples = samplesOf(sound('wav'));
    expect((await transcribe(waveOf(samples.slice(0, 32_000)))).text).not.toMatch(/fox/);
    const other = await say({ input: 'A dozen liquor jugs were packed in my box.', response_format: 'wav' });
    expect((await transcribe(waveOf(samplesOf(other)), {}, stranger.key)).text).toMatch(/^\[speech\]/);
  });

  it('finds nothing in silence', async () => {
    const answer = await transcribe(waveOf(new Int16Array(32_000)));
    expect(answer).toMatchObject({ text: '', segments: [], language: 'und', duration: 2 });
  });

  it('tells the times of words, in order within their segments, where that is asked for', async () => {
    const { segments } = await transcribe(sound('opus'), { timestamp_granularities: ['word'] });
    expect(segments.flatMap(({ words }) => words?.map(({ word }) => word))).toEqual(TEXT.split(' '));
    for (const { start, end, words = [] } of segments) {
      let last = start;
      for (const word of words) {
        expect(word.start).toBeGreaterThanOrEqual(last);
        expect(word.end).toBeGreaterThan(word.start);
        last = word.end;
      }
      expect(last).toBeLessThanOrEqual(end + 0.001);
    }
  });

  it('loses nothing of what was said between its segments, signs neither', async () => {
    const input = 'Fish & chips < 5 > 3 – so it was. And then – nothing.';
    const { text, segments } = await transcribe(await say({ input }), { timestamp_granularities: ['word'] });
    const words = segments.flatMap((segment) => segment.words?.map(({ word }) => word) ?? []);
    const joined = segments.map((segment) => segment.text).join(' ');
    expect([text, joined, words.join(' ')]).toEqual([input, input, input]);
  });

  it('tells speakers apart, labelled in the order in which they speak', async () => {
    const [low, high] = await Promise.all(
      ['onyx', 'shimmer'].map(async (voice) =>
        samplesOf(await say({ input: 'I think that we should go home now.', voice, response_format: 'wav' })),
      ),
    );
    const pause = new Int16Array(8000);
    const turns = [low, high, low, high].flatMap((samples) => [...(samples ?? []), ...pause]);
    const { segments } = await transcribe(waveOf(Int16Array.from(turns)), { diarization: true });
    const heard = segments
      .map(({ speaker }) => speaker)
      .filter((speaker, at, all) => speaker !== all[at - 1]);
    expect(heard).toEqual(['SPEAKER_00', 'SPEAKER_01', 'SPEAKER_00', 'SPEAKER_01']);
    expect(segments.map(({ text }) => text).join(' ')).toBe(
      Array.from({ length: 4 }, () => 'I think that we should go home now.').join(' '),
    );
  });

  it('names the language that the caller tells, and gives its commonest words in English', async () => {
    expect((await transcribe(sound('mp3'), { language: 'en' })).language).toBe('en');
    const german = await say({ input: 'Ich bin nicht der Mann, und das ist auch nicht mein Haus.' });
    expect(await transcribe(german)).toMatchObject({ language: 'de' });
    const translated = await transcribe(german, { translation: true });
    expect(translated.language).toBe('de');
    expect(translated.text).toBe('I am not the man, and the is also not my house.');
    const timed = await transcribe(german, { translation: true, timestamp_granularities: ['word'] });
    expect(timed.segments.flatMap(({ words }) => words?.map(({ word }) => word) ?? []).join(' ')).toBe(
      translated.text,
    );
    // What it has hardly a word of is no translation, and is not lost.
    const rare = 'Der Klabautermann und die Bratkartoffeln verhandeln Milchpreise.';
    const named = await transcribe(await say({ input: rare }), { translation: true });
    expect(named).toMatchObject({ language: 'de', text: `[speech in de] ${rare}` });
    expect((await transcribe(sound('mp3'), { translation: true })).text).toBe(TEXT);
  });

  it('comes as text, SRT and VTT exactly in form, with the usage in a header', async () => {
    const ask = async (format: string) => {
      const body = { file: sound('mp3').toString('base64'), response_format: format };
      const answer = await server.rest<unknown>('POST', '/audio/transcriptions', { key: org.key, body });
      expect(answer.status).toBe(200);
      expect(JSON.parse(answer.headers['x-usage'] ?? '')).toMatchObject({ quota_multiplier: 1 });
      return { type: answer.headers['content-type'], text: String(answer.body) };
    };
    expect(await ask('text')).toEqual({ type: 'text/plain; charset=utf-8', text: `${TEXT}\n` });
    const srt = await ask('srt');
    expect(srt.type).toBe('application/x-subrip; charset=utf-8');
    expect(srt.text).toMatch(/^(\d+\n\d\d:\d\d:\d\d,\d{3} --> \d\d:\d\d:\d\d,\d{3}\n[^\n]+\n\n)+$/);
    const vtt = await ask('vtt');
    expect(vtt.type).toBe('text/vtt; charset=utf-8');
    expect(vtt.text).toMatch(/^WEBVTT\n\n(\d\d:\d\d:\d\d\.\d{3} --> \d\d:\d\d:\d\d\.\d{3}\n[^\n]+\n\n)+$/);
  });

  it('is done by a job whose outputData is that of the contract', async () => {
    const made = await server.rest<{ id: string }>('POST', '/audio/transcriptions?async=true', {
      key: org.key,
      body: { file: sound('wav').toString('base64'), response_format: 'srt' },
    });
    const job = await server.rest<{ outputData: object; inputParams: { file: string } }>(
      'GET',
      `/jobs/${made.body.id}?poll=true`,
      { key: org.key },
    );
    expect(job.body).toMatchObject({
      status: 'completed',
      inputParams: {
        language: 'auto',
        diarization: false,
        translation: false,
        timestamp_granularities: ['segment'],
      },
      outputData: { text: TEXT, response_format: 'srt', content: expect.stringMatching(/^1\n/) as string },
    });
    expect(Object.keys(job.body.outputData).sort()).toEqual([
      'content',
      'duration',
      'response_format',
      'segments',
      'text',
    ]);
    const own = await server.rest<Transcript>('POST', '/audio/transcriptions', {
      key: org.key,
      body: { file: job.body.inputParams.file },
    });
    expect(own.body.text).toBe(TEXT);
  });

  it('is the same by GraphQL, and its price is known beforehand', async () => {
    const input = { file: sound('mp3').toString('base64'), timestampGranularities: ['word'] };
    const { data, errors } = await server.graphql<{
      createTranscription: { data: { text: string; duration: number }; usage: { secondsUsed: number } };
    }>(
      `mutation ($input: CreateTranscriptionInput!) { createTranscription(input: $input) {
        job { id } data { text language duration content segments { start end text speaker words { word start end } } }
        usage { secondsUsed quotaMultiplier secondsRemaining } } }`,
      { key: org.key, variables: { input } },
    );
    expect(errors).toEqual([]);
    expect(data?.createTranscription).toMatchObject({ data: { text: TEXT, language: 'en', content: null } });
    const estimate = await server.graphql<{ estimate: { amounts: object[] } }>(
      `query ($transcription: CreateTranscriptionInput!) {
        estimate(input: { transcription: $transcription }) { amounts { bucket amount } } }`,
      { key: org.key, variables: { transcription: input } },
    );
    expect(estimate.data?.estimate.amounts).toEqual([
      { bucket: 'stt_seconds', amount: data?.createTranscription.usage.secondsUsed },
    ]);
  });
});

describe('a transcription is refused', () => {
  const form = (parts: string) => ({
    key: org.key,
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
    body: Buffer.from(parts),
  });

  it.each<[object, string, string]>([
    [{}, 'file is required', 'file'],
    [{ file: '' }, 'file is required', 'file'],
    [
      { file: Buffer.from('no audio at all').toString('base64') },
      'file must be audio: MP3, WAV, M4A, FLAC, OGG, WebM, AAC',
      'file',
    ],
    [{ file: 'http://169.254.169.254/latest' }, 'Invalid URL', 'file'],
    [
      { file: 'AAAA', response_format: 'ass' },
      'response_format must be one of json, text, srt, vtt, verbose_json',
      'response_format',
    ],
    [{ file: 'AAAA', language: 'klingon!' }, 'language must be an ISO language code or auto', 'language'],
    [{ file: 'AAAA', diarization: 'yes' }, 'diarization must be true or false', 'diarization'],
    [
      { file: 'AAAA', timestamp_granularities: ['line'] },
      'timestamp_granularities[0] must be segment or word',
      'timestamp_granularities',
    ],
    [{ file: 'AAAA', model_inputs: { beam: 3 } }, 'Unknown model input: beam', 'model_inputs'],
    [{ file: 'AAAA', prompt: 'x' }, 'Unknown parameter: prompt', 'prompt'],
  ])('%#', async (body, error, param) => {
    expect(await server.rest('POST', '/audio/transcriptions', { key: org.key, body })).toMatchObject({
      status: 400,
      body: { error, param },
    });
  });

  it('where it has no channels, more than anybody records, or a codec that cannot be read', async () => {
    const ask = async (file: Buffer) => {
      const body = { file: file.toString('base64') };
      const answer = await server.rest('POST', '/audio/transcriptions', { key: org.key, body });
      return [answer.status, (answer.body as { error: string }).error];
    };
    const wave = Buffer.from(sound('wav'));
    for (const channels of [0, 33, 60_000]) {
      wave.writeUInt16LE(channels, 22);
      expect(await ask(wave)).toEqual([400, expect.stringMatching(/^file must be audio/)]);
    }
    // AAC of a profile that hardly anything makes: the first five bits behind the descriptor's head.
    const main = Buffer.from(await m4aOf(samplesOf(sound('wav'))));
    const head = main.indexOf(Buffer.from([0x05, 0x05]), main.indexOf('esds'));
    main[head + 2] = (1 << 3) | ((main[head + 2] as number) & 7);
    expect(await ask(main)).toEqual([400, 'Model sandbox/stt-fast cannot read this audio']);
  });

  it('where a small file would be a day of sound, before it is decoded', async () => {
    const file = silentFlacOf(24_000).toString('base64');
    expect(file.length).toBeLessThan(1_000_000);
    expect(
      await server.rest('POST', '/audio/transcriptions', { key: org.key, body: { file } }),
    ).toMatchObject({
      status: 400,
      body: { error: 'file exceeds the maximum duration of 14400 seconds', param: 'file' },
    });
  });

  it('where its upload is cut off, or over 25 MB', async () => {
    const head = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.mp3"\r\n\r\n';
    expect(await server.rest('POST', '/audio/transcriptions', form(`${head}abc`))).toMatchObject({
      status: 400,
    });
    const large = `${head}${'a'.repeat(27 * 1024 * 1024)}\r\n--x--\r\n`;
    expect(await server.rest('POST', '/audio/transcriptions', form(large))).toMatchObject({
      status: 413,
      body: { error: 'file exceeds the maximum size of 25 MB' },
    });
  });

  it('where the plan does not allow the tier, or the seconds are used up; and fails with its own message', async () => {
    const body = { file: sound('wav').toString('base64') };
    const refuse = (more: object, key = free.key) =>
      server.rest('POST', '/audio/transcriptions', { key, body: { ...body, ...more } });
    expect(await refuse({ model: 'sandbox/stt-premium' })).toMatchObject({
      status: 403,
      body: { error: 'Model tier not allowed' },
    });
    expect(await refuse({})).toMatchObject({ status: 402, body: { error: 'STT limit exceeded' } });
    const directive = { model_inputs: { directive: '@sandbox{"fail":"no"}' } };
    expect(await refuse(directive, org.key)).toMatchObject({
      status: 500,
      body: { error: 'Transcription failed' },
    });
  });
});

/** Another comment in the place of the voice's. */
function stripped(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  for (let at = copy.indexOf('penstock-speech'); at >= 0; at = copy.indexOf('penstock-speech'))
    copy.write('somebody-', at);
  return copy;
}
