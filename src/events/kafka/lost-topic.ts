import { createRequire } from 'node:module';

interface ConsumerGroup {
  recoverFromFetch(error: unknown): Promise<void>;
}

/** Whether the broker refused because it has no such topic. Looks through what kafkajs wraps around its answer. */
export function isTopicUnknown(error: unknown): boolean {
  for (let fault = error; fault instanceof Error; fault = fault.cause)
    if ('type' in fault && fault.type === 'UNKNOWN_TOPIC_OR_PARTITION') return true;
  return false;
}

const PATCHED = Symbol.for('penstock.kafkajs.lost-topic');

/**
 * kafkajs 2.2.4 goes on with the positions it holds where a topic was away: in the topic that is made in its place they skip as many
 * messages as were read before. A consumer whose topic is unknown ends instead, with the broker's error; the one built after it asks for
 * its positions, which the broker forgot with the topic.
 */
export function patchLostTopic(): void {
  const load = createRequire(import.meta.url);
  const { prototype } = load('kafkajs/src/consumer/consumerGroup') as {
    prototype: ConsumerGroup & { [PATCHED]?: true };
  };
  if (prototype[PATCHED]) return;
  const recover = prototype.recoverFromFetch;
  prototype.recoverFromFetch = async function recoverUnlessLost(this: ConsumerGroup, error: unknown) {
    if (isTopicUnknown(error)) throw Object.assign(error as Error, { retriable: false });
    return recover.call(this, error);
  };
  prototype[PATCHED] = true;
}
