// LangChain's models of both conventions.
import { ChatAnthropic } from '@langchain/anthropic';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';
import { lookUp, MODEL, ORIGIN, QUESTION, tell } from './task.mjs';

const apiKey = process.env.PENSTOCK_KEY;
const openai = { model: MODEL, apiKey, maxRetries: 0, configuration: { baseURL: `${ORIGIN}/v1` } };
const models = {
  chat: new ChatOpenAI(openai),
  responses: new ChatOpenAI({ ...openai, useResponsesApi: true }),
  messages: new ChatAnthropic({
    model: MODEL,
    apiKey,
    anthropicApiUrl: ORIGIN,
    maxRetries: 0,
    maxTokens: 1000,
  }),
};
const schema = z.object({ place: z.string() });
const tools = [tool(async (input) => lookUp(input), { name: 'look_up', description: 'Looks up.', schema })];

async function loop(ask) {
  const messages = [new HumanMessage(QUESTION)];
  for (;;) {
    const answer = await ask(messages);
    if (!answer.tool_calls?.length) return answer.text;
    messages.push(answer);
    for (const { id, args } of answer.tool_calls)
      messages.push(new ToolMessage({ tool_call_id: id, content: lookUp(args) }));
  }
}

for (const [way, model] of Object.entries(models)) {
  const bound = model.bindTools(tools);
  await tell(way, () => loop((messages) => bound.invoke(messages)));
  await tell(`${way}, streamed`, () =>
    loop(async (messages) => {
      let whole;
      for await (const part of await bound.stream(messages))
        whole = whole === undefined ? part : whole.concat(part);
      return whole;
    }),
  );
}
