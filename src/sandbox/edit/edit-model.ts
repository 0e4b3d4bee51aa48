import { randomInt } from 'node:crypto';
import { abortedError } from '../../providers/index.js';
import type { PixelEditor } from '../../providers/index.js';
import type { Imaging } from '../../imaging/index.js';
import { pause } from '../directive/pause.js';
import { coarserSizes } from '../draw/coarser-sizes.js';
import { followDirective } from '../directive/follow-directive.js';
import type { Pictures } from '../pictures/pictures.js';

/** Edits done here, on the pixels: the same request and seed give the same picture. */
export function createSandboxEditor(
  pictures: Pick<Pictures, 'edit'>,
  imaging: Pick<Imaging, 'fit' | 'finishEdit'>,
): () => PixelEditor {
  return () => ({
    capabilities: { operations: null, strength: true, modelInputs: ['seed'], mask: 'hole' },
    wholeOperation: true,
    async edit({ prompt, newBackground, modelInputs, signal, onProgress, partials, ...requested }) {
      const { rest, report, chunkMs } = await followDirective(prompt ?? newBackground ?? '', {
        signal,
        onProgress,
      });
      report(30);
      const { seed } = modelInputs;
      const task = {
        ...requested,
        prompt: prompt === undefined ? '' : rest,
        newBackground: newBackground === undefined ? '' : rest,
        seed: typeof seed === 'number' ? seed : randomInt(2 ** 31),
      };
      try {
        const whole = await pictures.edit(task, signal);
        for (const size of partials ? coarserSizes(whole, partials.count) : []) {
          const { bytes } = await imaging.fit(whole.bytes, size, signal);
          const transparent = requested.operation === 'backgroundRemoval';
          partials?.onPartial(await imaging.finishEdit({ ...whole, bytes, transparent }, signal));
          await pause(chunkMs, signal);
        }
        return whole;
      } catch (error) {
        throw signal.aborted ? abortedError() : error;
      }
    },
  });
}
