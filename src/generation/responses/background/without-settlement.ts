import type { ChatEngine } from '../../chat/engine.js';

/** An engine that does not settle its calls, because a response in the background is charged in the transaction that ends it. */
export function withoutSettlement(engine: ChatEngine): ChatEngine {
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
