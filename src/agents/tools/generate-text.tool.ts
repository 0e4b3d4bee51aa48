import { z } from 'zod';
import { defineTool } from './define-tool.js';

const TEXT =
  /\b(draft|write|compose|summari[sz]e|translate|poem|essay|e-?mail|post|article|announce\w*|reply|sort|triage|classify|answer)\b/i;
const MAX_MATERIAL = 6000;

/** Contract 4.8: writes a text with the agent's model; charged as tokens, not as a tool. */
export const generateText = defineTool({
  id: 'generate_text',
  description:
    'Write a longer text (a draft, a summary, a translation) from instructions, apart from the conversation.',
  credits: 0,
  timeoutMs: 180_000,
  input: z.object({
    prompt: z.string().trim().min(1).max(20_000).describe('What to write, with all that is needed for it'),
    max_tokens: z.int().min(1).max(8000).optional().describe('Longest text, in tokens'),
  }),
  sandbox: {
    thought: 'A text is wanted: I write it.',
    fits: ({ text, claimed }) => TEXT.test(text) && !claimed.text,
    input: ({ material, findings }) => ({
      prompt: [material, ...findings()].join('\n\n').slice(0, MAX_MATERIAL),
      max_tokens: 300,
    }),
    heading: 'Draft',
  },
  async run({ prompt, max_tokens: wanted }, { model, temperature, maxTokens, meter, signal }, { caller }) {
    const result = await caller({
      model,
      prompt: { messages: [{ role: 'user', content: prompt }], texts: [prompt], images: 0 },
      body: { temperature },
      maxTokens: Math.min(wanted ?? maxTokens, maxTokens),
      meter,
      signal,
      metered: true,
    });
    const { answer, operation, tokens } = result;
    return {
      output: { text: answer.text },
      text: answer.text,
      operations: operation === null ? [] : [operation],
      tokens,
    };
  },
});
