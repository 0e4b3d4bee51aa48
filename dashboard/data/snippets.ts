/** Programs that make a first call. They contain the address of this server. */
export const firstCalls = (address: string): { name: string; label: string; text: string }[] => [
  {
    name: 'curl',
    label: 'curl',
    text: `curl ${address}/v1/chat/completions \\
  -H "Authorization: Bearer $PENSTOCK_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"messages": [{"role": "user", "content": "What is a penstock?"}]}'`,
  },
  {
    name: 'node',
    label: 'openai, node',
    text: [
      "import { env } from 'node:process';",
      "import OpenAI from 'openai';",
      '',
      `const client = new OpenAI({ baseURL: '${address}/v1', apiKey: env.PENSTOCK_KEY });`,
      'const { data: [model] } = await client.models.list();',
      'const answer = await client.chat.completions.create({',
      '  model: model.id,',
      "  messages: [{ role: 'user', content: 'What is a penstock?' }],",
      '});',
      'console.log(answer.choices[0].message.content);',
    ].join('\n'),
  },
  {
    name: 'python',
    label: 'openai, python',
    text: [
      'import os',
      'from openai import OpenAI',
      '',
      `client = OpenAI(base_url="${address}/v1", api_key=os.environ["PENSTOCK_KEY"])`,
      'model = client.models.list().data[0].id',
      'answer = client.chat.completions.create(',
      '    model=model, messages=[{"role": "user", "content": "What is a penstock?"}]',
      ')',
      'print(answer.choices[0].message.content)',
    ].join('\n'),
  },
  {
    name: 'graphql',
    label: 'GraphQL',
    text: `curl ${address}/graphql \\
  -H "Authorization: Bearer $PENSTOCK_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"query": "mutation { createChatCompletion(input: { messages: [{ role: \\"user\\", content: \\"What is a penstock?\\" }] }) { choices { message { content } } } }"}'`,
  },
];
