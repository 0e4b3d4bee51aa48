import { completeTurn } from '../dialects/complete.js';
import { conclude } from './ending.js';
import { SilentLog } from './events.js';
import type { KeptEnd, ResponseKeepers } from './kept.js';
import { textsIn } from './native-output.js';
import type { ResponseObject } from './object.js';
import { wholeRound } from './rounds.js';
import type { ResponseEnd } from './rounds.js';
import { begunWhole, wholeEvents } from './whole-events.js';
import type { ResponseWork } from './work.js';

const NOBODY = { begun: () => undefined, ended: () => undefined };
const log = new SilentLog();

/** The data to store for an answer in one piece. */
function keptEnd(work: ResponseWork, response: ResponseObject, keepers: ResponseKeepers): KeptEnd {
  work.keeper = keepers.of(work, () => begunWhole(response));
  return { response, last: () => wholeEvents(response), isWhole: true };
}

/** A whole response, as JSON. @throws ApiError; the call is settled then */
export function completeResponse(work: ResponseWork, keepers: ResponseKeepers): Promise<string> {
  let kept: KeptEnd | null = null;
  return completeTurn<ResponseEnd>({
    work,
    take(round) {
      const end = wholeRound(round, { work, log, deliver: () => undefined });
      return { end, texts: () => end.items.flatMap(textsIn) };
    },
    async nextRound({ searches, items }, cost) {
      const outputs = await work.runSearches(searches, NOBODY);
      await work.nextRound(cost, [...items, ...outputs]);
    },
    wholeAnswer({ ended, final }, { model, tokens }) {
      const response = conclude(work, { model, ended, tokens, final });
      kept = keptEnd(work, response, keepers);
      return response;
    },
    async save(text) {
      if (kept !== null) await work.keeper?.save({ ...kept, text });
    },
    async settled() {
      if (kept !== null) await work.keeper?.end(kept);
    },
  });
}
