import { topicName } from '../../events/index.js';
import type { Bus, BusMessage } from '../../events/index.js';
import type { JobHandler } from '../../jobs/index.js';
import type { Metering } from '../../metering/index.js';
import type { Meters, Tracer } from '../../telemetry/index.js';
import type { DeliveryObserver } from '../../webhooks/index.js';
import type { TraceLookup } from './lookup.js';

const codeOf = (error: unknown): string => {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : 'error';
};

/** Each admission is a span. */
export function traceMetering(metering: Metering, tracer: Tracer): Metering {
  return {
    ...metering,
    admit: (request) => tracer.within('admission', {}, () => metering.admit(request)),
  };
}

/** Counts and times a worker's attempts; each is a span of the trace that made the job. */
export function observeHandlers(
  handlers: JobHandler[],
  { meters, tracer, lookup }: { meters: Meters; tracer: Tracer | null; lookup: TraceLookup | null },
): JobHandler[] {
  return handlers.map((handler) => {
    const counted: JobHandler['run'] = async (context) => {
      const startedAt = performance.now();
      const end = (outcome: string) =>
        meters.job(handler.tool, outcome, (performance.now() - startedAt) / 1000);
      try {
        const result = await handler.run(context);
        end('completed');
        return result;
      } catch (error) {
        end(context.signal.aborted ? stopWord(context.signal.reason) : 'failed');
        throw error;
      }
    };
    if (tracer === null || lookup === null) return { ...handler, run: counted };
    const run: JobHandler['run'] = async (context) => {
      const { job } = context;
      const parent = (await lookup.ofWork([job.id])).get(job.id) ?? null;
      const attributes = {
        'penstock.job.id': job.id,
        'penstock.job.tool': job.tool,
        'penstock.job.attempt': job.attempt,
        'gen_ai.request.model': job.model,
      };
      return await tracer.within(`job ${job.tool}`, { kind: 'consumer', parent, attributes }, () =>
        counted(context),
      );
    };
    return { ...handler, run };
  });
}

/** `Job cancelled` of an attempt's abort reason. */
function stopWord(reason: unknown): string {
  const [, word] =
    /^Job (cancelled|lost|timeout|shutdown)$/.exec(reason instanceof Error ? reason.message : '') ?? [];
  return word ?? 'failed';
}

/** The id under which a trace is stored: the job or run of an event, else the event itself. */
function tracedOf({ id, data }: { id?: unknown; data?: unknown }): string {
  const { jobId, runId } = (data ?? {}) as { jobId?: unknown; runId?: unknown };
  return String(jobId ?? runId ?? id);
}

const workIdOf = ({ topic, key, event }: BusMessage): string => (topic === 'events' ? tracedOf(event) : key);

export interface TracedBus {
  lookup: TraceLookup;
  /** Null: the bus is in this process. */
  kafkaPrefix: string | null;
}

/** Messages about traced jobs, runs and chats have a `traceparent` header; each has its own producer span. */
export function traceBus(bus: Bus, tracer: Tracer, { lookup, kafkaPrefix }: TracedBus): Bus {
  return {
    subscribe: (options, handler) => bus.subscribe(options, handler),
    close: () => bus.close(),
    async publish(messages) {
      const ids = messages.map(workIdOf);
      const parents = await lookup.ofWork([...new Set(ids)]);
      const spans = messages.map((message, i) => {
        const parent = parents.get(ids[i] ?? '');
        if (parent === undefined) return null;
        const attributes = {
          'messaging.system': kafkaPrefix === null ? 'penstock' : 'kafka',
          'messaging.operation.name': 'send',
          'messaging.operation.type': 'send',
          'messaging.destination.name':
            kafkaPrefix === null ? message.topic : topicName(kafkaPrefix, message.topic),
          'messaging.message.id': message.event.id,
        };
        return tracer.start(`send ${message.topic}`, { kind: 'producer', parent, attributes });
      });
      try {
        await bus.publish(
          messages.map((message, i) => {
            const span = spans[i];
            if (!span) return message;
            const headers = { traceparent: span.traceparent };
            const { topic, key, event, stored } = message;
            return stored ? { topic, key, event, stored, headers } : { topic, key, event, headers };
          }),
        );
      } catch (error) {
        for (const span of spans) span?.fail(codeOf(error));
        throw error;
      } finally {
        for (const span of spans) span?.end();
      }
    },
  };
}

/** Counts and times delivery attempts. Each is a span in the trace of its job, run or chat; the receiver gets a `traceparent` header. */
export function observeDeliveries(
  meters: Meters,
  tracer: Tracer | null,
  lookup: TraceLookup | null,
): DeliveryObserver {
  const counted: DeliveryObserver = async (_delivery, attempt) => {
    const result = await attempt();
    meters.delivery(result.ok ? 'succeeded' : 'failed', result.attempt.durationMs / 1000);
    return result;
  };
  if (tracer === null || lookup === null) return counted;
  return async (delivery, attempt) => {
    const id = tracedOf(delivery.event);
    const parent = (await lookup.ofWork([id])).get(id) ?? null;
    const attributes = {
      'penstock.webhook.id': delivery.webhookId,
      'penstock.event.type': String(delivery.event['type']),
      'server.address': new URL(delivery.url).hostname,
    };
    return await tracer.within('POST webhook', { kind: 'client', parent, attributes }, async (span) => {
      const result = await counted(delivery, attempt);
      span.set({ 'http.response.status_code': result.attempt.statusCode });
      if (!result.ok) span.fail(String(result.attempt.statusCode ?? 'failed'));
      return result;
    });
  };
}
