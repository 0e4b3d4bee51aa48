export type {
  Bus,
  BusMessage,
  BusSubscription,
  EventEnvelope,
  HintChannel,
  Hints,
  Topic,
} from './events.types.js';
export { createInProcessBus } from './in-process-bus.js';
export { createKafkaBus } from './kafka/bus.js';
export { createKafkaClient, disconnect } from './kafka/client.js';
export type { KafkaSettings } from './kafka/client.js';
export { createTopics } from './kafka/topics.js';
export { createRelay } from './relay.js';
export type { Relay, RelayOptions } from './relay.js';
