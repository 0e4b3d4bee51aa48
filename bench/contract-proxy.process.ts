/**
 * The proxy with a durable charge (bench/charge.ts) that also does what the contract requires of a chat call, each in the shortest
 * JavaScript: a key found by its hash, a checked body, the upstream's name of the model and a maximum of tokens, usage that is read and
 * written, the seven headers of an answer, one log line and a counter. No window, plan, price, event, fallback, idempotency, cancellation,
 * time limit, error but 400 and 401, or other endpoint. The difference between this proxy and Penstock is Penstock's own cost. No
 * implementation of the contract in one Node process can cost less than this proxy. `PORT`, `UPSTREAM` and `DATA_DIR` from the environment.
 */
import { hash, randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { spliceObject } from '../src/providers/openai-compatible/json-splice.js';
import { openCharges } from './charge.js';
import { sendOn, serveProxy } from './proxy.js';

const LOG_EVERY_MS = 200;
const charges = await openCharges(String(process.env['DATA_DIR']), 'contract');
const KEY = 'sk_00000000000000000000000000000000';
const orgs = new Map([[hash('sha256', KEY, 'base64'), 'org_1']]);

let lines: string[] = [];
setInterval(() => {
  if (lines.length > 0) process.stdout.write(lines.join(''));
  lines = [];
}, LOG_EVERY_MS).unref();
const counts = new Map<number, number>();

interface Call {
  id: string;
  org: string;
  startedAt: number;
  response: ServerResponse;
  remaining: number;
}

interface ChatBody {
  model: string;
  messages: { role: string; content: string }[];
  max_tokens: number;
}

interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

function send({ id, org, startedAt, response, remaining }: Call, status: number, body: string): void {
  response.writeHead(status, [
    'X-Request-Id',
    id,
    'X-Content-Type-Options',
    'nosniff',
    'X-RateLimit-Limit',
    '1000000',
    'X-RateLimit-Remaining',
    String(remaining),
    'X-RateLimit-Reset',
    '0',
    'content-type',
    'application/json; charset=utf-8',
    'content-length',
    String(Buffer.byteLength(body)),
  ]);
  response.end(body);
  counts.set(status, (counts.get(status) ?? 0) + 1);
  const now = Date.now();
  lines.push(
    `{"level":30,"time":${now},"requestId":"${id}","method":"POST","path":"/v1/chat/completions","status":${status},"ms":${(performance.now() - startedAt).toFixed(1)},"orgId":"${org}","msg":"request"}\n`,
  );
}

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
const fits = ({ model, messages, max_tokens: bound }: ChatBody): boolean =>
  isText(model) &&
  Array.isArray(messages) &&
  messages.length > 0 &&
  messages.every(({ role, content }) => isText(role) && isText(content)) &&
  Number.isInteger(bound) &&
  bound > 0;

async function finish(call: Call, answer: Buffer[]): Promise<void> {
  const text = (answer.length === 1 ? (answer[0] as Buffer) : Buffer.concat(answer)).toString();
  const { usage } = JSON.parse(text) as { usage: Usage };
  await charges.charge(call.id);
  const shown = { ...usage, credits_used: usage.total_tokens / 1000, credits_remaining: call.remaining };
  const edits = { model: '"bench/chat-1"', model_tier: '"basic"', usage: JSON.stringify(shown) };
  send(call, 200, spliceObject(text, edits));
}

async function forward(response: ServerResponse, raw: Buffer): Promise<void> {
  const startedAt = performance.now();
  const key = /^bearer +(\S+)$/i.exec(response.req.headers.authorization ?? '')?.[1] ?? '';
  const org = orgs.get(hash('sha256', key, 'base64'));
  const call: Call = { id: randomUUID(), org: org ?? '', startedAt, response, remaining: 999_999 };
  if (org === undefined) return send(call, 401, '{"error":"Invalid or missing API key"}');
  const body = JSON.parse(raw.toString()) as ChatBody;
  if (!fits(body)) return send(call, 400, '{"error":"Invalid request"}');
  await charges.reserve(call.id);
  const upstream = { ...body, model: 'bench-1', max_tokens: Math.min(body.max_tokens, 4096) };
  const answer: Buffer[] = [];
  sendOn(response, Buffer.from(JSON.stringify(upstream)), {
    onResponseStart: () => undefined,
    onResponseData: (_controller, data) => void answer.push(data),
    onResponseEnd: () => void finish(call, answer),
  });
}

serveProxy((response, body) => void forward(response, body));
process.on('SIGTERM', () => void charges.close().finally(() => process.exit(0)));
