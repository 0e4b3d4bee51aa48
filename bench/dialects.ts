/**
 * The cost of a call in each dialect of /v1, compared with the same call as a chat, in one run: for a whole answer, and for each chunk of a stream.
 * DIALECTS_ONLY=<words> measures only the ways whose names have these words, and chat; `whole` or `streamed` in front measures that form alone.
 */
import { join } from 'node:path';
import type { Effort } from './chat.js';
import { startAlone, type Field, type Places } from './contenders.js';
import type { LoadSpec } from './load.types.js';
import { figuresOf, measure, warmUp, type Figures, type Sample } from './measure.js';
import { stopAll } from './processes.js';
import { table, verdict, type Verdict } from './report.js';

const CONCURRENCY = 16;
const WARM_UP_MS = 3_000;
/** Chunks of each streamed answer of the upstream. */
const CHUNKS = 100;
const FORMS = ['whole', 'streamed'];
const QUESTION = 'How does a penstock feed a turbine? '.repeat(8);
/** Bounds compared with chat: for models whose upstream has the dialect, and for all others. */
const BOUNDS = { native: 1.15, bench: 1.5 };

type Provider = keyof typeof BOUNDS;

interface Way {
  name: string;
  path: string;
  provider: Provider;
  body: object;
}

const turn = [{ role: 'user', content: QUESTION }];
const CHAT: Way = {
  name: 'chat',
  path: '/chat/completions',
  provider: 'bench',
  body: { messages: turn, max_tokens: 256 },
};
const DIALECTS = [
  { name: 'responses', path: '/responses', body: { input: QUESTION, max_output_tokens: 256 } },
  {
    name: 'responses, not stored',
    path: '/responses',
    body: { input: QUESTION, max_output_tokens: 256, store: false },
  },
  { name: 'messages', path: '/messages', body: { messages: turn, max_tokens: 256 } },
];
const WAYS: readonly Way[] = [
  CHAT,
  ...DIALECTS.flatMap((dialect) =>
    (['native', 'bench'] as const).map((provider) => ({
      ...dialect,
      provider,
      name: `${dialect.name}, ${provider === 'native' ? 'native' : 'translated'}`,
    })),
  ),
];

/** What of the forms and ways is measured. */
function chosen(): { forms: string[]; ways: readonly Way[] } {
  const only = process.env['DIALECTS_ONLY'] ?? '';
  const form = FORMS.find((name) => only.startsWith(name));
  const words = only.slice(form?.length ?? 0).trim();
  return {
    forms: form === undefined ? FORMS : [form],
    ways: WAYS.filter((way) => way === CHAT || way.name.includes(words)),
  };
}

function specOf(
  penstock: Field['penstock'],
  way: Way,
  load: Pick<LoadSpec, 'durationMs' | 'stream'>,
): LoadSpec {
  const model = `${way.provider}/chat-1`;
  return {
    url: penstock.baseUrl.replace('/api/v1', `/v1${way.path}`),
    method: 'POST',
    headers: { ...penstock.headers, 'anthropic-version': '2023-06-01' },
    body: JSON.stringify({ ...way.body, model, ...(load.stream ? { stream: true } : {}) }),
    concurrency: CONCURRENCY,
    ...load,
  };
}

interface Measured extends Effort {
  ways: readonly Way[];
  stream: boolean;
}

/** In turns, so that disturbances of the machine affect all of them. */
async function figuresIn(
  places: Places,
  penstock: Field['penstock'],
  { rounds, durationMs, ways, stream }: Measured,
) {
  const program = join(places.programs, 'load.process.js');
  const warm = ways.map((way) => ({
    target: penstock,
    spec: specOf(penstock, way, { durationMs: WARM_UP_MS, stream }),
  }));
  if (stream) for (const { target, spec } of warm) await measure(program, target, spec);
  else await warmUp(program, warm);
  const samples = new Map<Way, Sample[]>(ways.map((way) => [way, []]));
  for (let round = 0; round < rounds; round += 1)
    for (const way of ways)
      samples.get(way)?.push(await measure(program, penstock, specOf(penstock, way, { durationMs, stream })));
  return new Map([...samples].map(([way, list]) => [way, figuresOf(list)]));
}

function report(
  title: string,
  unit: string,
  { figures, of }: { figures: Map<Way, Figures>; of(found: Figures): number },
): Verdict[] {
  const base = figures.get(CHAT);
  if (base === undefined) throw new Error('there are no figures of chat');
  table(
    title,
    ['', `CPU µs/${unit}`, 'beside chat', 'PostgreSQL µs/call', 'p50 ms'],
    [...figures].map(([{ name }, found]) => [
      name,
      of(found).toFixed(1),
      (of(found) / of(base)).toFixed(2),
      found.postgresUs.toFixed(0),
      found.p50.toFixed(2),
    ]),
  );
  return [...figures].flatMap(([way, found]) =>
    way === CHAT
      ? []
      : [verdict(`${way.name}: CPU a ${unit} / chat`, of(found) / of(base), BOUNDS[way.provider])],
  );
}

export async function benchDialects(places: Places, effort: Effort): Promise<Verdict[]> {
  const { forms, ways } = chosen();
  const penstock = await startAlone(places);
  const found = new Map<string, Map<Way, Figures>>();
  for (const form of forms)
    found.set(form, await figuresIn(places, penstock, { ...effort, ways, stream: form === 'streamed' }));
  await stopAll();
  return [...found].flatMap(([form, figures]) =>
    form === 'whole'
      ? report(`Dialects, whole, ${CONCURRENCY} at a time`, 'call', { figures, of: ({ cpuUs }) => cpuUs })
      : report(`Dialects, streamed, ${CONCURRENCY} at a time, ${CHUNKS} chunks each`, 'chunk', {
          figures,
          of: ({ cpuUs }) => cpuUs / CHUNKS,
        }),
  );
}
