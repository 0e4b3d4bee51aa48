import type { ServerResponse } from 'node:http';

const CHECK_TIMEOUT_MS = 2_000;

/** The checks of /readyz; each answers whether one dependency is available. */
export interface ReadinessChecks {
  database(): Promise<boolean>;
  /** Live processes with another signing secret make files unreadable for each other. */
  signingSecret(): Promise<boolean>;
}

export interface Health {
  /** 200 as long as the process lives. */
  live(response: ServerResponse): void;
  /** 200 while it can take work, else 503. */
  ready(response: ServerResponse): Promise<void>;
}

export function createHealth(options: {
  checks: ReadinessChecks;
  draining: AbortSignal;
  role: string;
}): Health {
  const { checks, draining, role } = options;
  return {
    live: (response) => sendLive(response, role),
    async ready(response) {
      const [database, signingSecret] = await Promise.all([
        within(() => checks.database()),
        within(() => checks.signingSecret()),
      ]);
      const ready = database && signingSecret && !draining.aborted;
      const parts = { database, signingSecret, accepting: !draining.aborted };
      send(response, ready ? 200 : 503, { status: ready ? 'ready' : 'not ready', role, checks: parts });
    },
  };
}

/** The process lives, whether it can do its work (yet) or not. */
export function sendLive(response: ServerResponse, role: string): void {
  send(response, 200, { status: 'ok', role });
}

/** A check that fails or times out counts as "no": /readyz must answer while PostgreSQL is away. */
async function within(check: () => Promise<boolean>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), CHECK_TIMEOUT_MS);
  });
  const result = check().catch(() => false);
  try {
    return await Promise.race([result, late]);
  } finally {
    clearTimeout(timer);
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    ...(status === 503 ? { 'retry-after': '1' } : {}),
  });
  response.end(text);
}
