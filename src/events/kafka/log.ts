import { logLevel } from 'kafkajs';
import type { logCreator } from 'kafkajs';
import type { Logger } from 'pino';

/** While a broker is away each attempt to connect is an entry, several a second; relay and consumers tell the outage themselves. */
const CHATTY = new Set(['Connection', 'BrokerPool']);

/**
 * kafkajs logs transient coordinator and rebalance answers as errors: each of its levels becomes the next lower one of ours. Its
 * entries are cut to what an operator can use: neither stacks nor payloads.
 */
export function createKafkaLog(logger: Logger): logCreator {
  return () =>
    ({ namespace, level, log }) => {
      const { message, error, broker, groupId } = log;
      const fields = { namespace, broker, groupId, error: typeof error === 'string' ? error : undefined };
      if (CHATTY.has(namespace)) logger.debug(fields, message);
      else if (level <= logLevel.ERROR) logger.warn(fields, message);
      else if (level === logLevel.WARN) logger.info(fields, message);
      else if (level === logLevel.INFO) logger.debug(fields, message);
      else logger.trace(fields, message);
    };
}
