import type { EditedImage, EditOperation, Imaging } from '../../imaging/index.js';
import type { TokenClasses } from '../../pricing/pricing.types.js';
import { UpstreamError } from '../../providers/index.js';
import type { ImageEditor, OrderLog } from '../../providers/index.js';
import type { ImageEditInput } from './input.js';
import { decodeUpstreamMedia } from '../pipeline/upstreams.js';

/** Receives coarser previews of the edit; null if the caller does not want them. */
export interface PartialEdits {
  count: number;
  show(make: () => Promise<EditedImage>): void;
}

interface UpstreamEdit {
  imaging: Imaging;
  editor: ImageEditor | undefined;
  image: Buffer;
  mask: Buffer | undefined;
  signal: AbortSignal;
  orders: OrderLog;
  onTokens(tokens: TokenClasses): void;
  partials: PartialEdits | null;
}

/** The prompt for upstreams that edit by a prompt, if it is not only the caller's own. */
const WORDS: Partial<Record<EditOperation, (words: string) => string>> = {
  outpainting: (words) => words || 'Continue the picture beyond its borders, so that no seam shows',
  backgroundRemoval: () => 'Keep the main subject exactly as it is and make the background transparent',
  backgroundReplace: (words) => `Keep the main subject exactly as it is and replace the background: ${words}`,
  objectRemoval: () => 'Remove what the mask marks and fill the place with its surroundings',
  superResolution: () => 'The same picture, unchanged, sharper and with finer detail',
  faceEnhancement: () => 'The same picture with its faces restored: sharper, natural, the same persons',
  colorization: () => 'Colour this picture with natural colours; change nothing else',
  styleTransfer: (words) => `Redraw this picture in another style: ${words}`,
};

function bordersOf({ operation, direction = 'all', expand_pixels: by = 0 }: ImageEditInput) {
  const at = (side: typeof direction): number =>
    operation === 'outpainting' && (direction === 'all' || direction === side) ? by : 0;
  return { left: at('left'), right: at('right'), top: at('top'), bottom: at('bottom') };
}

/**
 * One edit by an upstream. It gets the image with a transparent area to paint in. Such models redraw everything, so the area outside is restored
 * from the original. The answer is scaled to the size that the operation promises.
 * @throws UpstreamError; UnreadableImageError if the caller's image cannot be decoded
 */
export async function editUpstream(
  { imaging, editor, image, mask, signal, orders, onTokens, partials }: UpstreamEdit,
  input: ImageEditInput,
): Promise<EditedImage> {
  if (editor === undefined)
    throw new UpstreamError('The provider does not edit images', { status: null, retryable: false });
  const { operation, scale = 1, strength, quality, model_inputs: modelInputs = {} } = input;
  const words = input.prompt ?? input.new_background ?? '';
  const cutOut = { image, borders: bordersOf(input) };
  const whole = await imaging.cutOut(cutOut, signal);
  const holed = mask === undefined ? whole : await imaging.cutOut({ ...cutOut, mask }, signal);
  const kept = mask !== undefined || operation === 'outpainting' ? holed.bytes : undefined;
  const painted =
    kept !== undefined && editor.capabilities.mask === 'white'
      ? (await imaging.maskOf(kept, signal)).bytes
      : kept;
  const [width, height] = [whole.width * scale, whole.height * scale];
  const transparent = operation === 'backgroundRemoval';
  const facts = { width, height, transparent, ...(kept ? { kept } : {}) };
  const finish = (bytes: Uint8Array) => imaging.finishEdit({ bytes, ...facts }, signal);
  const bytes = await editor.edit({
    operation,
    prompt: WORDS[operation]?.(words) ?? words,
    image: whole.bytes,
    ...(painted === undefined ? {} : { mask: painted }),
    width,
    height,
    scale,
    transparent,
    strength,
    ...(quality === undefined ? {} : { quality }),
    modelInputs,
    signal,
    orders,
    onTokens,
    ...(partials === null
      ? {}
      : { partials: { count: partials.count, onPartial: (made) => partials.show(() => finish(made)) } }),
  });
  return await decodeUpstreamMedia('image', () => finish(bytes));
}
