/** Answers that outlive their connection: the delay of their text, and the cost of a chunk compared with a plain stream. */
import { join } from 'node:path';
import type { Effort } from './chat.js';
import { startAlone, type Field, type Places } from './contenders.js';
import type { LoadSpec } from './load.types.js';
import { figuresOf, measure, median, type Sample } from './measure.js';
import { stopAll } from './processes.js';
import { table, verdict, type Verdict } from './report.js';

const STREAMS = 16;
const TIMED = 8;

function bodyOf(input: string, background: boolean): string {
  return JSON.stringify({ model: 'bench/chat-1', input, max_output_tokens: 256, stream: true, background });
}

/** Milliseconds from the upstream's write of each chunk to its arrival at the reader; the answers run one after the other. */
async function delays({ url, headers }: Field['penstock']): Promise<number[]> {
  const found: number[] = [];
  for (let nth = 0; nth < TIMED; nth += 1) {
    const answer = await fetch(url, { method: 'POST', headers, body: bodyOf('What time is it?', true) });
    if (!answer.ok || answer.body === null) throw new Error(`${answer.status} ${await answer.text()}`);
    let text = '';
    for await (const part of answer.body.pipeThrough(new TextDecoderStream())) {
      const now = Date.now();
      text += part;
      for (let at = text.indexOf('\n\n'); at !== -1; at = text.indexOf('\n\n')) {
        const written = /"delta":"(\d{13}) "/.exec(text.slice(0, at))?.[1];
        text = text.slice(at + 2);
        if (written !== undefined) found.push(now - Number(written));
      }
    }
  }
  return found;
}

export async function benchDurable(places: Places, effort: Effort): Promise<Verdict[]> {
  const penstock = await startAlone(places);
  const own = { ...penstock, url: penstock.baseUrl.replace('/api/v1', '/v1/responses') };
  const program = join(places.programs, 'load.process.js');
  const specOf = (background: boolean): LoadSpec => ({
    url: own.url,
    method: 'POST',
    headers: own.headers,
    body: bodyOf('How does a penstock feed a turbine?', background),
    concurrency: STREAMS,
    durationMs: effort.durationMs,
    stream: true,
  });
  const samples: Record<'plain' | 'durable', Sample[]> = { plain: [], durable: [] };
  // The first round warms up both.
  for (let round = 0; round <= effort.rounds; round += 1)
    for (const name of ['plain', 'durable'] as const) {
      const sample = await measure(program, own, specOf(name === 'durable'));
      if (round > 0) samples[name].push(sample);
    }
  const [plain, durable] = [figuresOf(samples.plain), figuresOf(samples.durable)];
  const late = median(await delays(own));
  await stopAll();
  table(
    `Responses, streamed, ${STREAMS} at a time, 100 chunks each`,
    ['', 'CPU µs/chunk', 'whole ms'],
    [
      ['plain', plain.cpuUsPerChunk.toFixed(1), plain.p50.toFixed(0)],
      ['durable', durable.cpuUsPerChunk.toFixed(1), durable.p50.toFixed(0)],
    ],
  );
  return [
    verdict("durable answers: a chunk's way to its reader, p50 ms", late, 60),
    verdict(
      'durable answers: CPU per chunk, durable / plain',
      durable.cpuUsPerChunk / plain.cpuUsPerChunk,
      2,
    ),
  ];
}
