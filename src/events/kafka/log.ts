import { logLevel } from 'kafkajs';
import type { logCreator } from 'kafkajs';
import type { Logger } from 'pino';

/** While a broker is away these log every connection attempt, several a second; the relay and the consumers report the outage themselves. */
const CHATTY = new Set(['Connection', 'BrokerPool']);

/**
 * kafkajs logs transient coordinator and rebalance answers as errors, so each of its levels is logged one level lower. Its entries are reduced to
 * what an operator can use, without stacks and payloads.
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
