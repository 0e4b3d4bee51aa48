/** Chat completions through each contender, JSON and streamed, in interleaved rounds. */
import { join } from 'node:path';
import type { Contender, Field, Places } from './contenders.js';
import type { LoadSpec } from './load.types.js';
import { figuresOf, measure, warmUp, type Figures, type Sample } from './measure.js';
import { table, verdict, type Verdict } from './report.js';

const PROMPT = 'Explain in a few sentences how a penstock feeds a turbine, and what a surge tank is for. ';
export const CONCURRENCIES = [1, 16, 64];
const STREAMS = 16;
const WARM_UP_MS = 4_000;

export interface Effort {
  rounds: number;
  durationMs: number;
}

type Results = Map<Contender, Figures>;

function bodyFor(contender: Contender, stream: boolean): string {
  const messages = [
    { role: 'system', content: 'You are an engineer who answers briefly.' },
    { role: 'user', content: PROMPT.repeat(2) },
  ];
  return JSON.stringify({
    model: contender.model,
    messages,
    max_tokens: 256,
    ...(stream ? { stream: true } : {}),
  });
}

function specFor(
  contender: Contender,
  { concurrency, durationMs, stream }: { concurrency: number; durationMs: number; stream: boolean },
): LoadSpec {
  const { url, headers } = contender;
  return {
    url,
    method: 'POST',
    headers,
    body: bodyFor(contender, stream),
    concurrency,
    durationMs,
    stream,
  };
}

interface Run {
  places: Places;
  effort: Effort;
  contenders: Contender[];
  concurrency: number;
  stream: boolean;
}

/** In turns (A B C, A B C, …), so that disturbances of the machine affect all of them. */
async function rounds({ places, effort, contenders, concurrency, stream }: Run): Promise<Results> {
  const samples = new Map<Contender, Sample[]>(contenders.map((contender) => [contender, []]));
  for (let round = 0; round < effort.rounds; round += 1) {
    for (const contender of contenders) {
      const spec = specFor(contender, { concurrency, durationMs: effort.durationMs, stream });
      const sample = await measure(join(places.programs, 'load.process.js'), contender, spec);
      samples.get(contender)?.push(sample);
    }
  }
  return new Map([...samples].map(([contender, list]) => [contender, figuresOf(list)]));
}

function figures(results: Results, contender: Contender): Figures {
  const found = results.get(contender);
  if (found === undefined) throw new Error(`no figures of ${contender.name}`);
  return found;
}

function printJson(title: string, results: Results): void {
  const rows = [...results].map(([contender, found]) => [
    contender.name,
    found.perSecond.toFixed(0),
    contender.pid === null ? '-' : found.cpuUs.toFixed(0),
    found.postgresUs === 0 ? '-' : found.postgresUs.toFixed(0),
    found.p50.toFixed(2),
    found.p99.toFixed(2),
  ]);
  table(title, ['', 'req/s', 'CPU µs/req', 'PostgreSQL µs/req', 'p50 ms', 'p99 ms'], rows);
}

/** JSON answers of one contender. */
export async function chatFigures({
  contender,
  ...run
}: Omit<Run, 'contenders' | 'stream'> & { contender: Contender }): Promise<Figures> {
  return figures(await rounds({ ...run, contenders: [contender], stream: false }), contender);
}

/** JSON answers at each concurrency. */
export async function benchJson(
  places: Places,
  field: Field,
  options: Effort & { fsync: number },
): Promise<Verdict[]> {
  const { postmaster } = field.penstock;
  const [charged, contract] = [field.charged, field.contract].map((one) => ({ ...one, postmaster }));
  if (!charged || !contract) throw new Error('a contender is missing');
  const contenders = [field.direct, field.raw, charged, contract, field.portkey, field.penstock];
  const warmUpSpec = { concurrency: 32, durationMs: WARM_UP_MS, stream: false };
  await warmUp(
    join(places.programs, 'load.process.js'),
    contenders.map((target) => ({ target, spec: specFor(target, warmUpSpec) })),
  );
  const verdicts: Verdict[] = [];
  for (const concurrency of CONCURRENCIES) {
    const results = await rounds({ places, effort: options, contenders, concurrency, stream: false });
    printJson(`Chat, JSON, ${concurrency} at a time`, results);
    const [raw, portkey, penstock] = [field.raw, field.portkey, field.penstock].map((one) =>
      figures(results, one),
    );
    if (!raw || !portkey || !penstock) throw new Error('a contender is missing');
    const at = `JSON at ${concurrency}`;
    verdicts.push(
      verdict(`${at}: CPU, Penstock / Portkey`, penstock.cpuUs / portkey.cpuUs, 0.25),
      verdict(`${at}: CPU, Penstock / raw proxy`, penstock.cpuUs / raw.cpuUs, 2.5),
    );
    if (concurrency === 1) {
      const base = figures(results, field.direct).p50;
      const bound = 0.5 * (portkey.p50 - base) + options.fsync;
      verdicts.push(
        verdict(
          `${at}: added p50, ms (0.5 × Portkey's ${(portkey.p50 - base).toFixed(2)} + one fsync)`,
          penstock.p50 - base,
          bound,
        ),
      );
    }
  }
  return verdicts;
}

function printStreams(concurrency: number, results: Results): void {
  const rows = [...results].map(([contender, found]) => [
    contender.name,
    contender.pid === null ? '-' : found.cpuUsPerChunk.toFixed(1),
    found.firstChunkP50.toFixed(2),
    found.p50.toFixed(0),
  ]);
  table(
    `Chat, streamed, ${concurrency} at a time, 100 chunks each`,
    ['', 'CPU µs/chunk', 'first chunk ms', 'whole ms'],
    rows,
  );
}

/** Streamed answers: CPU for each chunk, and the delay of the first chunk. */
export async function benchStreams(places: Places, field: Field, effort: Effort): Promise<Verdict[]> {
  const contenders = [field.direct, field.raw, field.portkey, field.penstock];
  const warmUpSpec = { concurrency: STREAMS, durationMs: WARM_UP_MS, stream: true };
  for (const contender of contenders)
    await measure(join(places.programs, 'load.process.js'), contender, specFor(contender, warmUpSpec));
  const results = await rounds({ places, effort, contenders, concurrency: STREAMS, stream: true });
  printStreams(STREAMS, results);
  const single = await rounds({
    places,
    effort,
    contenders: [field.direct, field.raw, field.penstock],
    concurrency: 1,
    stream: true,
  });
  printStreams(1, single);
  const added = figures(single, field.penstock).firstChunkP50 - figures(single, field.direct).firstChunkP50;
  const ratio =
    figures(results, field.penstock).cpuUsPerChunk / figures(results, field.portkey).cpuUsPerChunk;
  return [
    verdict('streamed: CPU per chunk, Penstock / Portkey', ratio, 0.6),
    verdict('streamed, one at a time: first chunk added, ms', added, 1),
  ];
}
