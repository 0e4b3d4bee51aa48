// The official client of Anthropic's convention, whole and streamed, with a tool, and its count of tokens.
import Anthropic from '@anthropic-ai/sdk';
import { lookUp, MODEL, ORIGIN, QUESTION, tell } from './task.mjs';

const client = new Anthropic({ baseURL: ORIGIN, apiKey: process.env.PENSTOCK_KEY, maxRetries: 0 });
const input_schema = { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] };
const tools = [
  { name: 'look_up', description: 'Looks up.', input_schema, run: lookUp, parse: (input) => input },
];
const request = { model: MODEL, max_tokens: 1000, messages: [{ role: 'user', content: QUESTION }], tools };
const textOf = ({ content }) => content.map(({ text }) => text ?? '').join('');

await tell('messages', async () => textOf(await client.beta.messages.toolRunner(request)));
await tell('messages, streamed', async () => {
  let last;
  for await (const stream of client.beta.messages.toolRunner({ ...request, stream: true }))
    last = await stream.finalMessage();
  return textOf(last);
});
