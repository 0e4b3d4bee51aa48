// OpenAI's Agents SDK over Responses, its default, and over chat.
import { Agent, OpenAIProvider, Runner, tool } from '@openai/agents';
import { z } from 'zod';
import { lookUp, MODEL, ORIGIN, QUESTION, tell } from './task.mjs';

const parameters = z.object({ place: z.string() });
const agent = new Agent({
  name: 'Keeper',
  instructions: 'You know the tides.',
  model: MODEL,
  tools: [
    tool({ name: 'look_up', description: 'Looks up.', parameters, execute: async (input) => lookUp(input) }),
  ],
});

for (const useResponses of [true, false]) {
  const modelProvider = new OpenAIProvider({
    baseURL: `${ORIGIN}/v1`,
    apiKey: process.env.PENSTOCK_KEY,
    useResponses,
  });
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  const way = useResponses ? 'responses' : 'chat';
  await tell(way, async () => (await runner.run(agent, QUESTION)).finalOutput);
  await tell(`${way}, streamed`, async () => {
    const result = await runner.run(agent, QUESTION, { stream: true });
    await result.completed;
    return result.finalOutput;
  });
}
