import { completeTurn } from '../dialects/complete.js';
import { SilentLog } from './events.js';
import { textsIn } from './native-output.js';
import { wholeRound } from './rounds.js';
import type { MessageEnd } from './rounds.js';
import type { MessageWork } from './work.js';

const log = new SilentLog();
const NOBODY = (): void => undefined;

/** A whole message, as JSON. @throws ApiError; the call is settled then */
export function completeMessage(work: MessageWork): Promise<string> {
  return completeTurn<MessageEnd>({
    work,
    take(round) {
      const before = work.content.length;
      const end = wholeRound(round, { work, log, deliver: NOBODY });
      return { end, texts: () => textsIn(work.content.slice(before)) };
    },
    async nextRound({ searches, added }, cost) {
      const results = await work.runSearches(searches, NOBODY);
      await work.nextRound(cost, added(), results);
    },
    wholeAnswer: ({ ending }, { model, tokens }) => work.ended(model, { ending, tokens }),
  });
}
