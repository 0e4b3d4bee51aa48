export type {
  Bus,
  BusMessage,
  BusSubscription,
  EventEnvelope,
  HintChannel,
  Hints,
  Topic,
} from './events.types.js';
export { listDeadLetters, replayDeadLetters } from './dead-letters.js';
export type { TableLetter } from './dead-letters.js';
export { createInProcessBus } from './in-process-bus.js';
export { createKafkaBus } from './kafka/bus.js';
export { createKafkaClient, disconnect, kafkaOptions } from './kafka/client.js';
export type { KafkaSettings } from './kafka/client.js';
export { openDeadLetterTopic } from './kafka/dead-letter-topic.js';
export type { DeadLetterTopic, TopicLetter } from './kafka/dead-letter-topic.js';
export { createTopics } from './kafka/topics.js';
export { createRelay } from './relay.js';
export type { Relay, RelayOptions } from './relay.js';
