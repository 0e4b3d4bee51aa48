// The AI SDK with its providers of both conventions.
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { lookUp, MODEL, ORIGIN, QUESTION, tell } from './task.mjs';

const options = { baseURL: `${ORIGIN}/v1`, apiKey: process.env.PENSTOCK_KEY };
const openai = createOpenAI(options);
const models = {
  responses: openai(MODEL),
  chat: openai.chat(MODEL),
  messages: createAnthropic(options)(MODEL),
};
const inputSchema = z.object({ place: z.string() });
const tools = {
  look_up: tool({ description: 'Looks up.', inputSchema, execute: async (input) => lookUp(input) }),
};

for (const [way, model] of Object.entries(models)) {
  const request = { model, prompt: QUESTION, tools, stopWhen: stepCountIs(5), maxRetries: 0 };
  await tell(way, async () => (await generateText(request)).text);
  await tell(
    `${way}, streamed`,
    () => streamText({ ...request, onError: ({ error }) => console.error(error) }).text,
  );
}
