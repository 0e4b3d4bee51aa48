import type { ChatEngine } from '../../chat/engine.js';

/** An engine whose calls are not settled where they end: the end of a response in the background charges it, in its own transaction. */
export function unsettled(engine: ChatEngine): ChatEngine {
  const { settlement } = engine;
  return {
    ...engine,
    settlement: {
      ...settlement,
      charge: () => Promise.resolve(),
      fail: (_, error) => Promise.resolve(settlement.answerOf(error)),
      finish: () => Promise.reject(new Error('a response in the background is settled at its end')),
    },
  };
}
