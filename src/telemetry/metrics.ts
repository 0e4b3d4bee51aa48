import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** What happened, told by whoever did it. Nothing here holds an id, a key or a path that a caller chose. */
export interface Meters {
  /** One statement that admitted `size` callers. */
  admissionBatch(size: number, seconds: number): void;
  /** `admitted`, or the error's code. */
  admission(outcome: string): void;
  /** An attempt at a job ended on this process: `completed`, `failed`, `cancelled`, `timeout`, `lost` or `shutdown`. */
  job(tool: string, outcome: string, seconds: number): void;
  /** One attempt to deliver a webhook event. */
  delivery(outcome: 'succeeded' | 'failed', seconds: number): void;
  /** +1 where a subscription opens, -1 where it ends. */
  subscriptions(change: 1 | -1): void;
  subscriptionEvent(): void;
  http(request: { method: string; route: string; status: number; seconds: number }): void;
  /** How far a consumer of this process is behind. */
  consumerLag(at: { group: string; topic: string; partition: number }, messages: number): void;
}

export interface Metrics extends Meters {
  registry: Registry;
  /** Called at the start of a scrape; a fault only leaves its gauges as they were. */
  beforeScrape(read: () => Promise<void>): void;
  /** The exposition format. */
  render(): Promise<string>;
  contentType: string;
}

const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const JOB_SECONDS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS']);

/** The counters of one process, in a registry of its own. */
export function createMetrics({ role }: { role: string }): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ role });
  const reads: (() => Promise<void>)[] = [];
  return {
    registry,
    contentType: registry.contentType,
    ...admissionMeters(registry),
    ...workMeters(registry),
    ...faceMeters(registry),
    beforeScrape: (read) => void reads.push(read),
    async render() {
      await Promise.allSettled(reads.map((read) => read()));
      return await registry.metrics();
    },
  };
}

/** Counts by key until a scrape takes them: prom-client hashes and checks the labels at each increment. */
class Tally {
  private counts = new Map<string, number>();

  add(key: string): void {
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
  }

  take(): Map<string, number> {
    const taken = this.counts;
    this.counts = new Map();
    return taken;
  }
}

/** Values that wait: the many are looked up in their buckets faster, one after the other, than each in the middle of a call. */
const WAITING_VALUES = 512;

/** Observed values until a scrape takes them, or many have come. */
class Observations {
  private values: number[] = [];

  constructor(private readonly observe: (value: number) => void) {}

  add(value: number): void {
    if (this.values.push(value) >= WAITING_VALUES) this.pass();
  }

  pass(): void {
    const { values } = this;
    this.values = [];
    for (const value of values) this.observe(value);
  }
}

function admissionMeters(registry: Registry) {
  const registers = [registry];
  const batch = new Histogram({
    name: 'penstock_admission_batch_size',
    help: 'Callers admitted by one statement',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    registers,
    collect: () => sizes.pass(),
  });
  const admit = new Histogram({
    name: 'penstock_admission_seconds',
    help: 'Time of one admission statement',
    buckets: SECONDS,
    registers,
    collect: () => seconds.pass(),
  });
  const admitted = new Tally();
  new Counter({
    name: 'penstock_admissions_total',
    help: 'Admissions by outcome: admitted, or the code of the refusal',
    labelNames: ['outcome'],
    registers,
    collect() {
      for (const [outcome, count] of admitted.take()) this.inc({ outcome }, count);
    },
  });
  const sizes = new Observations(batch.labels().observe);
  const seconds = new Observations(admit.labels().observe);
  return {
    admissionBatch(size: number, took: number) {
      sizes.add(size);
      seconds.add(took);
    },
    admission: (outcome: string) => admitted.add(outcome),
  };
}

function workMeters(registry: Registry) {
  const registers = [registry];
  const jobs = new Counter({
    name: 'penstock_jobs_finished_total',
    help: 'Attempts at jobs that ended on this process',
    labelNames: ['tool', 'outcome'],
    registers,
  });
  const jobSeconds = new Histogram({
    name: 'penstock_job_seconds',
    help: 'Time from claim to end of an attempt',
    labelNames: ['tool'],
    buckets: JOB_SECONDS,
    registers,
  });
  const deliveries = new Counter({
    name: 'penstock_delivery_attempts_total',
    help: 'Attempts to deliver webhook events',
    labelNames: ['outcome'],
    registers,
  });
  const deliverySeconds = new Histogram({
    name: 'penstock_delivery_attempt_seconds',
    help: 'Time of one attempt',
    buckets: SECONDS,
    registers,
  });
  const lag = new Gauge({
    name: 'penstock_kafka_consumer_lag',
    help: 'Messages that a consumer of this process has not read yet',
    labelNames: ['group', 'topic', 'partition'],
    registers,
  });
  return {
    job(tool: string, outcome: string, seconds: number) {
      jobs.inc({ tool, outcome });
      jobSeconds.observe({ tool }, seconds);
    },
    delivery(outcome: 'succeeded' | 'failed', seconds: number) {
      deliveries.inc({ outcome });
      deliverySeconds.observe(seconds);
    },
    consumerLag: (at: { group: string; topic: string; partition: number }, messages: number) =>
      lag.set({ ...at, partition: String(at.partition) }, messages),
  };
}

function faceMeters(registry: Registry) {
  const registers = [registry];
  const open = new Gauge({ name: 'penstock_subscriptions_open', help: 'Open subscriptions', registers });
  const events = new Counter({
    name: 'penstock_subscription_events_total',
    help: 'Results sent to subscribers',
    registers,
  });
  const answered = new Tally();
  new Counter({
    name: 'penstock_http_requests_total',
    help: 'HTTP requests by route pattern',
    labelNames: ['method', 'route', 'status'],
    registers,
    collect() {
      for (const [key, count] of answered.take()) {
        const [method = '', status = '', route = ''] = key.split(' ');
        this.inc({ method, route, status }, count);
      }
    },
  });
  const timers = new Map<string, Observations>();
  const seconds = new Histogram({
    name: 'penstock_http_request_seconds',
    help: 'Time from a request to the end of its answer',
    labelNames: ['route'],
    buckets: SECONDS,
    registers,
    collect() {
      for (const timer of timers.values()) timer.pass();
    },
  });
  open.set(0);
  return {
    subscriptions: (change: 1 | -1) => open.inc(change),
    subscriptionEvent: () => events.inc(),
    http(request: { method: string; route: string; status: number; seconds: number }) {
      const { route } = request;
      const method = METHODS.has(request.method) ? request.method : 'other';
      answered.add(`${method} ${request.status} ${route}`);
      let timer = timers.get(route);
      if (timer === undefined) timers.set(route, (timer = new Observations(seconds.labels(route).observe)));
      timer.add(request.seconds);
    },
  };
}
