import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createImaging, UnreadableImageError } from '../../src/imaging/index.js';
import type { Imaging } from '../../src/imaging/index.js';
import type { ImageCallOptions } from '../../src/providers/index.js';
import { createSandboxImage } from '../../src/sandbox/draw/image-model.js';

let imaging: Imaging;
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'penstock-art-'));
  imaging = createImaging({ config: { dataDir: folder } });
});

afterAll(() => {
  imaging.close();
  rmSync(folder, { recursive: true, force: true });
});

async function make(prompt: string, options: Partial<ImageCallOptions> = {}): Promise<Buffer[]> {
  const answer = await createSandboxImage(imaging)('image-standard').doGenerate({
    prompt,
    n: 1,
    size: '512x512',
    aspectRatio: undefined,
    seed: 7,
    files: undefined,
    mask: undefined,
    providerOptions: {},
    ...options,
  });
  return answer.images.map((image) => Buffer.from(image));
}

const hash = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const only = async (...args: Parameters<typeof make>) => hash((await make(...args))[0] ?? Buffer.alloc(0));

/** Mean difference of two pictures' pixels, 0 to 255. */
async function difference(a: Buffer, b: Buffer): Promise<number> {
  const [left, right] = await Promise.all(
    [a, b].map((image) => sharp(image).resize(64, 64).raw().toBuffer()),
  );
  let sum = 0;
  left?.forEach((value, index) => (sum += Math.abs(value - (right?.[index] ?? 0))));
  return sum / (left?.length ?? 1);
}

/** Mean distance of a pixel's strongest and weakest colour, 0 to 255. */
async function saturation(image: Buffer): Promise<number> {
  const pixels = await sharp(image).resize(64, 64).raw().toBuffer();
  let sum = 0;
  for (let at = 0; at < pixels.length; at += 3) {
    const colours = pixels.subarray(at, at + 3);
    sum += Math.max(...colours) - Math.min(...colours);
  }
  return (sum * 3) / pixels.length;
}

describe('a sandbox picture', () => {
  it.each(['512x512', '1024x1024', '1792x1024', '1024x1792', '1536x1024', '1024x1536'] as const)(
    'has exactly the size %s and opens as PNG',
    async (size) => {
      const [image] = await make('a lighthouse at dusk', { size });
      const facts = await sharp(image).metadata();
      expect(`${facts.width}x${facts.height}`).toBe(size);
      expect(facts.format).toBe('png');
    },
  );

  it('is the same for the same request, and another for another seed, prompt, style, negative prompt or place', async () => {
    const first = await only('a red fox');
    expect(await only('a red fox')).toBe(first);
    const pictures = await make('a red fox', { n: 3 });
    expect(hash(pictures[0] ?? Buffer.alloc(0))).toBe(first);
    const others = [
      await only('a red fox', { seed: 8 }),
      await only('a blue fox'),
      await only('a red fox', { providerOptions: { penstock: { style: 'natural' } } }),
      await only('a red fox', { providerOptions: { penstock: { negative_prompt: 'red' } } }),
      ...pictures.slice(1).map(hash),
    ];
    expect(new Set([first, ...others]).size).toBe(others.length + 1);
  });

  it('changes visibly with each of them', async () => {
    const [base = Buffer.alloc(0)] = await make('a quiet harbour');
    for (const [prompt, options] of [
      ['a quiet harbour', { seed: 8 }],
      ['a busy market', {}],
      ['a quiet harbour', { providerOptions: { penstock: { style: 'natural' } } }],
      ['a quiet harbour', { providerOptions: { penstock: { negative_prompt: 'boats' } } }],
    ] as const) {
      const [other = Buffer.alloc(0)] = await make(prompt, options);
      expect(await difference(base, other), JSON.stringify([prompt, options])).toBeGreaterThan(8);
    }
  });

  it('is more colourful when vivid than when natural', async () => {
    const mean = async (style: string) => {
      const options = { n: 4, providerOptions: { penstock: { style } } };
      const values = await Promise.all((await make('an ocean of blue', options)).map(saturation));
      return values.reduce((sum, value) => sum + value, 0);
    };
    expect(await mean('vivid')).toBeGreaterThan(1.5 * (await mean('natural')));
  });

  it('differs from call to call without a seed', async () => {
    const unseeded = { seed: undefined };
    expect(await only('a red fox', unseeded)).not.toBe(await only('a red fox', unseeded));
  });

  it('draws any text, markup and broken characters too', async () => {
    const [image] = await make('<script>&\u0001 "\'" \ud83d\ude00 中文 ]]> '.repeat(20));
    expect((await sharp(image).metadata()).width).toBe(512);
  });

  it('obeys the directive: it waits, moves its progress, and fails with the text', async () => {
    const seen: number[] = [];
    await make('a fox @sandbox{"delay_ms":300}', { onProgress: (percent) => seen.push(percent) });
    expect(seen.length).toBeGreaterThan(2);
    expect([...seen].sort((a, b) => a - b)).toEqual(seen);
    expect(seen.at(-1)).toBe(100);
    await expect(make('a fox @sandbox{"fail":"no luck"}')).rejects.toThrow('no luck');
  });

  it('stops waiting and drawing when it is cancelled', async () => {
    const controller = new AbortController();
    const waiting = make('@sandbox{"delay_ms":60000}', { abortSignal: controller.signal });
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ fault: 'aborted' });
    const drawing = new AbortController();
    const pictures = make('many', { n: 10, abortSignal: drawing.signal, onProgress: () => drawing.abort() });
    await expect(pictures).rejects.toMatchObject({ fault: 'aborted' });
  });
});

describe('fitting a picture', () => {
  const source = (width: number, height: number) =>
    sharp({ create: { width, height, channels: 3, background: '#3366cc' } });

  it('brings JPEG, PNG and WebP to the exact size', async () => {
    for (const bytes of [
      await source(300, 200).jpeg().toBuffer(),
      await source(64, 64).png().toBuffer(),
      await source(900, 100).webp().toBuffer(),
    ]) {
      const fitted = await imaging.fit(bytes, { width: 512, height: 256 });
      expect(await sharp(fitted.bytes).metadata()).toMatchObject({ width: 512, height: 256, format: 'png' });
    }
  });

  it('refuses what is no such image: SVG, GIF, text, a cut file, a bomb of pixels', async () => {
    const png = await sharp({
      create: {
        width: 2000,
        height: 2000,
        channels: 3,
        background: '#000',
        noise: { type: 'gaussian', mean: 128, sigma: 30 },
      },
    })
      .png()
      .toBuffer();
    const bomb = Buffer.from(await source(16, 16).png().toBuffer());
    bomb.writeUInt32BE(50_000, 16);
    bomb.writeUInt32BE(50_000, 20);
    for (const bytes of [
      Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'),
      await source(8, 8).gif().toBuffer(),
      Buffer.from('hello'),
      png.subarray(0, png.length / 2),
      bomb,
    ])
      await expect(imaging.fit(bytes, { width: 8, height: 8 })).rejects.toThrow(UnreadableImageError);
  });

  it('survives the death of a process', async () => {
    const controller = new AbortController();
    const bytes = await source(3000, 2000).png().toBuffer();
    const killed = imaging.fit(bytes, { width: 4096, height: 4096 }, controller.signal);
    setTimeout(() => controller.abort(new Error('gone')), 5);
    await expect(killed).rejects.toThrow('gone');
    expect((await imaging.fit(bytes, { width: 10, height: 10 })).width).toBe(10);
  });
});
