/**
 * A model provider with almost no cost: fixed answers in the chat-completions convention and its other dialects, JSON and
 * streamed.
 * `PORT` from the environment; prints `ready` once it listens.
 */
import { dialectAnswers } from './upstream-dialects.js';
import type { Answers } from './upstream-dialects.js';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

const CHUNKS = 100;
const CHUNK_INTERVAL_MS = 5;
const WORDS = 'Water flows down the penstock and turns the wheel that lights the town. '.repeat(4);

const json = Buffer.from(
  JSON.stringify({
    id: 'chatcmpl-bench',
    object: 'chat.completion',
    created: 1_760_000_000,
    model: 'bench-1',
    choices: [{ index: 0, message: { role: 'assistant', content: WORDS }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 24, completion_tokens: 60, total_tokens: 84 },
  }),
);

function chunk(delta: object, finishReason: string | null, usage?: object): Buffer {
  const body = {
    id: 'chatcmpl-bench',
    object: 'chat.completion.chunk',
    created: 1_760_000_000,
    model: 'bench-1',
    choices: [{ index: 0, delta, finish_reason: finishReason }],
    ...(usage === undefined ? {} : { usage }),
  };
  return Buffer.from(`data: ${JSON.stringify(body)}\n\n`);
}

const first = chunk({ role: 'assistant', content: '' }, null);
const middle = chunk({ content: ' penstock' }, null);
const last = Buffer.concat([
  chunk({}, 'stop', { prompt_tokens: 24, completion_tokens: CHUNKS, total_tokens: 24 + CHUNKS }),
  Buffer.from('data: [DONE]\n\n'),
]);

const dialects = dialectAnswers(WORDS, CHUNKS);
const chat: Answers = { json, first, middle, last };

/** If the prompt asks for the time, every chunk contains the time of its writing. */
const CLOCK = 'What time is it?';

function stream(response: ServerResponse, { first, middle, last }: Answers, tellsTime: boolean): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(first);
  let sent = 1;
  const timer = setInterval(() => {
    sent += 1;
    if (sent < CHUNKS) response.write(tellsTime ? chunk({ content: `${Date.now()} ` }, null) : middle);
    else {
      clearInterval(timer);
      response.end(last);
    }
  }, CHUNK_INTERVAL_MS);
  response.on('close', () => clearInterval(timer));
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    const asked = Buffer.concat(parts);
    const [, answers = chat] = [...dialects].find(([path]) => request.url?.endsWith(path)) ?? [];
    if (asked.includes('"stream":true')) stream(response, answers, asked.includes(CLOCK));
    else
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-length': answers.json.length })
        .end(answers.json);
  });
}

const server = createServer({ keepAliveTimeout: 60_000 }, answer);
server.listen(Number(process.env['PORT']), '127.0.0.1', () => console.log('ready'));
process.on('SIGTERM', () => process.exit(0));
