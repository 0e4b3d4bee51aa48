import { randomInt } from 'node:crypto';
import { abortedError } from '../../providers/index.js';
import type { PixelEditor } from '../../providers/index.js';
import { followDirective } from '../directive/follow-directive.js';
import type { Pictures } from '../pictures/pictures.js';

/** Edits done here, on the pixels: the same request and seed give the same picture. */
export function createSandboxEditor(pictures: Pick<Pictures, 'edit'>): () => PixelEditor {
  return () => ({
    capabilities: { operations: null, strength: true, modelInputs: ['seed'], mask: 'hole' },
    wholeOperation: true,
    async edit({ prompt, newBackground, modelInputs, signal, onProgress, ...asked }) {
      const { rest, report } = await followDirective(prompt ?? newBackground ?? '', { signal, onProgress });
      report(30);
      const { seed } = modelInputs;
      const task = {
        ...asked,
        prompt: prompt === undefined ? '' : rest,
        newBackground: newBackground === undefined ? '' : rest,
        seed: typeof seed === 'number' ? seed : randomInt(2 ** 31),
      };
      try {
        return await pictures.edit(task, signal);
      } catch (error) {
        throw signal.aborted ? abortedError() : error;
      }
    },
  });
}
