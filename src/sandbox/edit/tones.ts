import { coloursOf, hashOf } from './palette.js';
import type { Colour } from './palette.js';
import { blend, collect, filtered, luminance, open } from './raster.js';
import type { Raster } from './raster.js';

/** Each pixel by a function of its own colour. */
function mapped(image: Raster, colourOf: (at: number, pixel: number) => Colour): Raster {
  const data = Buffer.from(image.data);
  for (let pixel = 0, at = 0; at < data.length; pixel++, at += 4) {
    const colour = colourOf(at, pixel);
    for (let channel = 0; channel < 3; channel++)
      data[at + channel] = Math.min(255, Math.max(0, Math.round(colour[channel] as number)));
  }
  return { ...image, data };
}

function between(stops: Colour[], share: number): Colour {
  const place = Math.min(0.999, Math.max(0, share)) * (stops.length - 1);
  const from = stops[Math.floor(place)] as Colour;
  const to = stops[Math.floor(place) + 1] as Colour;
  const part = place - Math.floor(place);
  return [0, 1, 2].map(
    (channel) => (from[channel] as number) + ((to[channel] as number) - (from[channel] as number)) * part,
  ) as Colour;
}

const SKY: Colour[] = [
  [16, 30, 84],
  [62, 118, 200],
  [158, 206, 246],
  [255, 250, 240],
];
const GROUND: Colour[] = [
  [36, 26, 14],
  [94, 100, 40],
  [204, 172, 98],
  [255, 246, 230],
];
/** The difference between the largest and smallest component from which a pixel counts as coloured. */
const COLOURED = 64;

/** Colour by brightness and height: cool above, warm below. Pixels that have colour already keep it. */
export function colourize(image: Raster): Raster {
  const { data, width, height } = image;
  return mapped(image, (at, pixel) => {
    const given: Colour = [data[at] as number, data[at + 1] as number, data[at + 2] as number];
    const light = luminance(data, at) / 255;
    const depth = Math.floor(pixel / width) / height;
    const toned = between([between(SKY, light), between(GROUND, light)], depth);
    // The toning keeps the brightness of the original, so that nothing of the drawing is lost.
    const brightness = 0.299 * toned[0] + 0.587 * toned[1] + 0.114 * toned[2] || 1;
    const factor = 0.6 + (0.4 * light * 255) / brightness;
    const own = Math.min(1, (Math.max(...given) - Math.min(...given)) / COLOURED);
    return toned.map(
      (value, channel) => value * factor * (1 - own) + (given[channel] as number) * own,
    ) as Colour;
  });
}

/** Skin by hue and saturation (in Cb and Cr), 255 where it is. */
export function skinMask({ data, width, height }: Raster): Buffer {
  const mask = Buffer.alloc(width * height);
  for (let pixel = 0, at = 0; at < data.length; pixel++, at += 4) {
    const [red, green, blue] = [data[at] as number, data[at + 1] as number, data[at + 2] as number];
    const cb = 128 - 0.169 * red - 0.331 * green + 0.5 * blue;
    const cr = 128 + 0.5 * red - 0.419 * green - 0.081 * blue;
    if (cb > 77 && cb < 127 && cr > 133 && cr < 173) mask[pixel] = 255;
  }
  return mask;
}

/** Pencil on paper: how much a pixel differs from what is around it. */
async function sketch(image: Raster): Promise<Raster> {
  const soft = await filtered(image, (pipeline) => pipeline.blur(Math.max(2, image.width / 200)));
  return mapped(image, (at) => {
    const light = luminance(image.data, at);
    const around = luminance(soft.data, at) || 1;
    const stroke = Math.min(1, light / around) ** 6 * 255;
    return [stroke, stroke, Math.min(255, stroke + 4)];
  });
}

function posterize(image: Raster, levels: number): Raster {
  const step = 255 / (levels - 1);
  return mapped(
    image,
    (at) => [0, 1, 2].map((part) => Math.round((image.data[at + part] as number) / step) * step) as Colour,
  );
}

async function pixelate(image: Raster): Promise<Raster> {
  const cell = Math.max(4, Math.round(Math.max(image.width, image.height) / 96));
  const small = await collect(
    open(image).resize(Math.ceil(image.width / cell), Math.ceil(image.height / cell), {
      fit: 'fill',
      kernel: 'linear',
    }),
  );
  return await collect(
    open(posterize(small, 8)).resize(image.width, image.height, { fit: 'fill', kernel: 'nearest' }),
  );
}

function duotone(image: Raster, prompt: string): Raster {
  const [dark, bright] = coloursOf(prompt);
  const stops: Colour[] = [dark.map((value) => value * 0.35) as Colour, dark, bright, [255, 252, 245]];
  return mapped(image, (at) => between(stops, luminance(image.data, at) / 255));
}

/** A larger picture is painted at this length of its longer side: strokes of a few pixels would not be seen in it, and take minutes. */
const CANVAS_SIDE = 4096;

async function painted(image: Raster, size: number): Promise<Raster> {
  const { width, height } = image;
  const small = Math.max(width, height) > CANVAS_SIDE;
  const canvas = small
    ? await collect(open(image).resize(CANVAS_SIDE, CANVAS_SIDE, { fit: 'inside', kernel: 'linear' }))
    : image;
  const strokes = await filtered(canvas, (pipeline) =>
    pipeline.removeAlpha().median(size).modulate({ saturation: 1.35 }),
  );
  const sharp = await filtered(strokes, (pipeline) => pipeline.sharpen({ sigma: 2 }));
  return small ? await collect(open(sharp).resize(width, height, { fit: 'fill', kernel: 'cubic' })) : sharp;
}

const STYLES: [RegExp, (image: Raster, prompt: string) => Promise<Raster> | Raster][] = [
  [/\b(sketch|pencil|drawing|charcoal|line ?art|ink)\b/i, sketch],
  [/\b(pixel|8.?bit|retro game|minecraft|lego)\b/i, pixelate],
  [
    /\b(cartoon|comic|anime|manga|pop.?art|poster|ghibli)\b/i,
    async (image) => posterize(await painted(image, 5), 6),
  ],
  [/\b(oil|impressionis[mt]|van gogh|monet|paint(ed|ing)?|brush)\b/i, (image) => painted(image, 7)],
  [
    /\b(water ?colou?r|aquarelle|pastel)\b/i,
    async (image) =>
      await collect(open(await painted(image, 9)).modulate({ brightness: 1.12, saturation: 0.75 })),
  ],
  [
    /\b(noir|black and white|monochrome|gr[ea]yscale)\b/i,
    (image) =>
      mapped(image, (at) =>
        between(
          [
            [0, 0, 0],
            [120, 120, 120],
            [255, 255, 255],
          ],
          luminance(image.data, at) / 255,
        ),
      ),
  ],
];

/** The style that the prompt names, else two tones in the prompt's colours. */
export async function stylize(image: Raster, prompt: string): Promise<Raster> {
  const known = STYLES.find(([words]) => words.test(prompt));
  const styled = known === undefined ? duotone(image, prompt) : await known[1](image, prompt);
  // Two prompts of one style still differ a little, as two painters would.
  const tint = duotone(styled, String(hashOf(prompt)));
  return blend(styled, tint, { strength: known === undefined ? 0 : 0.08 });
}
