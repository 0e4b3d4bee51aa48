/** All patches to kafkajs 2.2.4, which is no longer maintained. ADR 7 lists its faults and how each is avoided. */
import { createRequire } from 'node:module';

const PATCHED = Symbol.for('penstock.kafkajs.patched');

interface RequestQueue {
  pending: unknown[];
  scheduleCheckPendingRequests(): void;
  [PATCHED]?: true;
}

interface ConsumerGroup {
  recoverFromFetch(error: unknown): Promise<void>;
  [PATCHED]?: true;
}

/** Applies every patch. A second call changes nothing. */
export function patchKafkajs(): void {
  const load = createRequire(import.meta.url);
  const { prototype: queue } = load('kafkajs/src/network/requestQueue') as { prototype: RequestQueue };
  const { prototype: group } = load('kafkajs/src/consumer/consumerGroup') as { prototype: ConsumerGroup };
  if (!queue[PATCHED]) stopIdleTimer(queue);
  if (!group[PATCHED]) endOnUnknownTopic(group);
}

/**
 * An idle connection re-arms a timer of 1 ms for ever (kafkajs issue 1604), which costs 25 to 28 ms of CPU a second. Nothing pending needs no check; a
 * request that is queued later schedules the check again.
 */
function stopIdleTimer(queue: RequestQueue): void {
  const schedule = queue.scheduleCheckPendingRequests;
  queue.scheduleCheckPendingRequests = function scheduleUnlessIdle(this: RequestQueue): void {
    if (this.pending.length > 0) schedule.call(this);
  };
  queue[PATCHED] = true;
}

/**
 * Without this patch a consumer keeps its positions when its topic is lost, and skips that many messages of the new topic. With it, an unknown
 * topic ends the consumer with the broker's error; the next consumer reads its positions from the broker, which dropped them with the topic.
 */
function endOnUnknownTopic(group: ConsumerGroup): void {
  const recover = group.recoverFromFetch;
  group.recoverFromFetch = async function recoverUnlessLost(this: ConsumerGroup, error: unknown) {
    if (isTopicUnknown(error)) throw Object.assign(error as Error, { retriable: false });
    return recover.call(this, error);
  };
  group[PATCHED] = true;
}

/** Whether the broker refused because the topic does not exist. Unwraps the errors of kafkajs. */
export function isTopicUnknown(error: unknown): boolean {
  for (let fault = error; fault instanceof Error; fault = fault.cause)
    if ('type' in fault && fault.type === 'UNKNOWN_TOPIC_OR_PARTITION') return true;
  return false;
}
