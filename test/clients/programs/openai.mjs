// The official client of OpenAI's convention: chat and Responses, whole and streamed, each with a tool.
import OpenAI from 'openai';
import { lookUp, MODEL, ORIGIN, QUESTION, tell } from './task.mjs';

const client = new OpenAI({ baseURL: `${ORIGIN}/v1`, apiKey: process.env.PENSTOCK_KEY, maxRetries: 0 });
const parameters = { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] };
const tool = { function: lookUp, parse: JSON.parse, name: 'look_up', description: 'Looks up.', parameters };

const messages = [{ role: 'user', content: QUESTION }];
const tools = [{ type: 'function', function: tool }];
await tell('chat', () => client.chat.completions.runTools({ model: MODEL, messages, tools }).finalContent());
await tell('chat, streamed', () =>
  client.chat.completions.runTools({ model: MODEL, messages, tools, stream: true }).finalContent(),
);

/** The loop that the Responses clients leave to their callers. */
async function respond(ask) {
  const input = [{ role: 'user', content: QUESTION }];
  const request = {
    model: MODEL,
    input,
    tools: [{ type: 'function', name: 'look_up', parameters, strict: false }],
  };
  for (;;) {
    const { output, output_text } = await ask(request);
    const calls = output.filter(({ type }) => type === 'function_call');
    if (calls.length === 0) return output_text;
    input.push(...output);
    for (const { call_id, arguments: args } of calls)
      input.push({ type: 'function_call_output', call_id, output: lookUp(JSON.parse(args)) });
  }
}
await tell('responses', () => respond((request) => client.responses.create(request)));
await tell('responses, streamed', () =>
  respond((request) => client.responses.stream(request).finalResponse()),
);
