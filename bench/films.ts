/** The latency of chat while the worker of the same process renders a 4k video: the work of media must not block the event loop. */
import { setTimeout as sleep } from 'node:timers/promises';
import { chatFigures, type Effort } from './chat.js';
import type { Field, Places } from './contenders.js';
import { table, verdict, type Verdict } from './report.js';

const CONCURRENCY = 4;
/** Longer than the measurement; it is cancelled afterwards. */
const FILM = { prompt: 'A penstock in winter', resolution: '4k', fps: 60, duration_seconds: 60 };
const START_TIMEOUT_MS = 30_000;

export async function benchFilms(places: Places, field: Field, effort: Effort): Promise<Verdict[]> {
  const { penstock } = field;
  const idle = await chatFigures({ places, effort, contender: penstock, concurrency: CONCURRENCY });
  const film = await startFilm(penstock);
  let busy: typeof idle;
  try {
    busy = await chatFigures({ places, effort, contender: penstock, concurrency: CONCURRENCY });
  } finally {
    await film.cancel();
  }
  table(
    `Chat, JSON, ${CONCURRENCY} at a time, beside a 4k video`,
    ['', 'req/s', 'p50 ms', 'p99 ms'],
    [
      ['idle', idle.perSecond.toFixed(0), idle.p50.toFixed(2), idle.p99.toFixed(2)],
      ['rendering', busy.perSecond.toFixed(0), busy.p50.toFixed(2), busy.p99.toFixed(2)],
    ],
  );
  return [verdict('chat p99 while a 4k video renders / idle', busy.p99 / idle.p99, 2)];
}

/** Starts a video job and waits until frames are rendered. @throws Error if that does not happen */
async function startFilm({ baseUrl, headers }: Field['penstock']): Promise<{ cancel(): Promise<void> }> {
  const call = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${baseUrl}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return (await answer.json()) as { id: string; progress: number; error?: string };
  };
  const { id, error } = await call('POST', '/videos/generations?async=true', FILM);
  if (error !== undefined) throw new Error(`the film was refused: ${error}`);
  const deadline = Date.now() + START_TIMEOUT_MS;
  while ((await call('GET', `/jobs/${id}`)).progress === 0) {
    if (Date.now() > deadline) throw new Error('the film did not begin');
    await sleep(200);
  }
  return { cancel: async () => void (await call('DELETE', `/jobs/${id}`)) };
}
