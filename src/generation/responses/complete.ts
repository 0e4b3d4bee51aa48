import { completeTurn } from '../dialects/complete.js';
import { conclude, save } from './ending.js';
import { SilentLog } from './events.js';
import { textsIn } from './native-output.js';
import type { ResponseObject } from './object.js';
import { wholeRound } from './rounds.js';
import type { ResponseEnd } from './rounds.js';
import type { ResponseWork } from './work.js';

const NOBODY = { begun: () => undefined, ended: () => undefined };
const log = new SilentLog();

/** A response in one piece, as JSON. @throws ApiError; the call is settled then */
export function completeResponse(work: ResponseWork): Promise<string> {
  let response: ResponseObject | null = null;
  return completeTurn<ResponseEnd>({
    work,
    take(round) {
      const end = wholeRound(round, { work, log, deliver: () => undefined });
      return { end, texts: end.items.flatMap(textsIn) };
    },
    async nextRound({ searches, items }, cost) {
      const outputs = await work.runSearches(searches, NOBODY);
      await work.nextRound(cost, [...items, ...outputs]);
    },
    told({ ended, final }, { model, tokens }) {
      response = conclude(work, { model, ended, tokens, final });
      return response;
    },
    save: async () => {
      if (response !== null) await save(work, response);
    },
  });
}
