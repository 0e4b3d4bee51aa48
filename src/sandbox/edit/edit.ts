import { asJpeg } from '../../imaging/child-index.js';
import type { EditedImage, EditOperation } from '../../imaging/index.js';
import { foreground } from './background.js';
import { fillByExample } from './exemplar.js';
import { addGrain, fillMasked } from './fill.js';
import { paint } from './palette.js';
import { blend, collect, decode, decodeMask, feather, filtered, open } from './raster.js';
import type { Raster } from './raster.js';
import { colourize, skinMask, stylize } from './tones.js';

export interface EditTask {
  operation: EditOperation;
  image: Uint8Array;
  /** As large as the image; white is edited. */
  mask?: Uint8Array;
  prompt: string;
  direction: 'left' | 'right' | 'top' | 'bottom' | 'all';
  expandPixels: number;
  newBackground: string;
  scale: number;
  /** 0 to 1; from 0.95 on the effect is complete. */
  strength: number;
  seed: number;
}

type Edit = (image: Raster, task: EditTask) => Promise<Raster>;

const FULL_STRENGTH = 0.95;
const share = ({ strength }: EditTask): number => Math.min(1, strength / FULL_STRENGTH);

async function maskOf(task: EditTask): Promise<Buffer> {
  if (task.mask === undefined) throw new Error(`${task.operation} has no mask`);
  return await decodeMask(task.mask);
}

/** Edges soft in proportion to the image, as a brush's would be. */
const softness = ({ width, height }: Raster): number => Math.max(width, height) / 400;

const inpaint: Edit = async (image, task) => {
  const mask = await maskOf(task);
  const filled = fillMasked(image, mask);
  const painted = blend(filled, paint(task.prompt, task.seed, image), { strength: 0.6 });
  return blend(image, addGrain(painted, mask, task.seed), {
    weight: await feather(mask, image, softness(image)),
    strength: share(task),
  });
};

const removeObject: Edit = async (image, task) => {
  const mask = await maskOf(task);
  // The filled area reaches a little over the mask: an object's edge is never masked to the pixel.
  const wide = await feather(mask, image, softness(image) * 2);
  for (let pixel = 0; pixel < wide.length; pixel++) wide[pixel] = (wide[pixel] as number) > 24 ? 255 : 0;
  const filled = fillByExample(image, wide, task.seed);
  return blend(image, filled, { weight: await feather(wide, image, softness(image)), strength: share(task) });
};

const outpaint: Edit = async (image, task) => {
  const { direction, expandPixels } = task;
  const by = (side: EditTask['direction']): number =>
    direction === side || direction === 'all' ? expandPixels : 0;
  const edges = { left: by('left'), right: by('right'), top: by('top'), bottom: by('bottom') };
  const extended = await collect(open(image).extend({ ...edges, extendWith: 'mirror' }));
  const soft = await collect(open(extended).blur(Math.max(2, expandPixels / 24)));
  const outside = outsideMask(extended, image, edges);
  const continued = blend(extended, soft, { weight: outside, strength: 0.85 * share(task) });
  if (task.prompt === '') return continued;
  return blend(continued, paint(task.prompt, task.seed, extended), {
    weight: outside,
    strength: 0.45 * share(task),
  });
};

/** Grows from 0 at the original's edge to 255 away from it. */
function outsideMask(
  { width, height }: Raster,
  original: Raster,
  edges: { left: number; top: number; right: number; bottom: number },
): Buffer {
  const mask = Buffer.alloc(width * height);
  const reach = Math.max(1, Math.max(...Object.values(edges)) / 4);
  for (let y = 0, pixel = 0; y < height; y++) {
    const dy = Math.max(edges.top - y, y - (edges.top + original.height - 1), 0);
    for (let x = 0; x < width; x++, pixel++) {
      const dx = Math.max(edges.left - x, x - (edges.left + original.width - 1), 0);
      mask[pixel] = Math.min(255, (Math.hypot(dx, dy) / reach) * 255);
    }
  }
  return mask;
}

const removeBackground: Edit = async (image, task) => {
  const alpha = await foreground(image);
  const { data } = image;
  for (let pixel = 0, at = 3; at < data.length; pixel++, at += 4) {
    const given = data[at] as number;
    const kept = (given * (alpha[pixel] as number)) / 255;
    data[at] = Math.round(given + (kept - given) * share(task));
  }
  return image;
};

const replaceBackground: Edit = async (image, task) => {
  const alpha = await foreground(image);
  const scene = paint(task.newBackground, task.seed, image);
  for (let pixel = 0; pixel < alpha.length; pixel++) alpha[pixel] = 255 - (alpha[pixel] as number);
  return blend(image, scene, { weight: alpha, strength: share(task) });
};

const enlarge: Edit = async (image, { scale, strength }) =>
  await collect(
    open(image)
      .resize(image.width * scale, image.height * scale, { fit: 'fill', kernel: 'lanczos3' })
      .sharpen({ sigma: 0.6 + strength * 0.8 }),
  );

const enhanceFaces: Edit = async (image, task) => {
  const skin = await feather(skinMask(image), image, softness(image) * 2);
  const clear = await filtered(image, (pipeline) =>
    pipeline
      .removeAlpha()
      .median(3)
      .sharpen({ sigma: 1.4, m1: 0.8, m2: 2.5 })
      .modulate({ brightness: 1.03, saturation: 1.06 }),
  );
  return blend(image, clear, { weight: skin, strength: share(task) });
};

const EDITS: Record<EditOperation, Edit> = {
  inpainting: inpaint,
  outpainting: outpaint,
  backgroundRemoval: removeBackground,
  backgroundReplace: replaceBackground,
  objectRemoval: removeObject,
  superResolution: enlarge,
  faceEnhancement: enhanceFaces,
  colorization: async (image, task) => blend(image, colourize(image), { strength: share(task) }),
  styleTransfer: async (image, task) =>
    blend(image, await stylize(image, task.prompt), { strength: share(task) }),
};

/** One edit, done on the pixels: PNG where the result is transparent, else JPEG (contract 4.3). */
export async function edit(task: EditTask): Promise<EditedImage> {
  const result = await EDITS[task.operation](await decode(task.image), task);
  const transparent = task.operation === 'backgroundRemoval';
  const encoded = transparent
    ? open(result).png({ compressionLevel: 6, adaptiveFiltering: false })
    : asJpeg(open(result), result);
  const { data, info } = await encoded.toBuffer({ resolveWithObject: true });
  return { bytes: data, width: info.width, height: info.height };
}
