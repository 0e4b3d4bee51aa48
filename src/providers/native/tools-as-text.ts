import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
} from '@ai-sdk/provider';
import type { NativeKind } from './kinds.js';

type ToolMessage = Extract<LanguageModelV4Message, { role: 'tool' }>;

const isTool = (part: { type: string }): boolean => part.type === 'tool-call' || part.type === 'tool-result';

/** Calls of an assistant and answers to them, in words. */
function told(message: LanguageModelV4Message): LanguageModelV4Message {
  if (message.role === 'assistant')
    return {
      ...message,
      content: message.content.map((part) =>
        part.type === 'tool-call'
          ? { type: 'text', text: `[Called ${part.toolName} with ${JSON.stringify(part.input)}]` }
          : part,
      ),
    };
  return message.role === 'tool' ? { role: 'user', content: answersOf(message) } : message;
}

function answersOf({ content }: ToolMessage): { type: 'text'; text: string }[] {
  return content.flatMap((part) => {
    if (part.type !== 'tool-result') return [];
    const said = 'value' in part.output ? part.output.value : '';
    const text = typeof said === 'string' ? said : JSON.stringify(said);
    return [{ type: 'text' as const, text: `[${part.toolName} answered: ${text}]` }];
  });
}

/**
 * Bedrock takes calls and answers of tools only where tools are offered, and its package leaves them out otherwise: an agent's last round would
 * not know what its tools found. Then they are told in words.
 */
export function withToolsAsText(
  kind: NativeKind,
  prompt: LanguageModelV4Prompt,
  { tools, toolChoice }: Pick<LanguageModelV4CallOptions, 'tools' | 'toolChoice'>,
): LanguageModelV4Prompt {
  const offered = tools !== undefined && tools.length > 0 && toolChoice?.type !== 'none';
  if (kind !== 'amazon-bedrock' || offered) return prompt;
  const has = prompt.some(({ content }) => Array.isArray(content) && content.some(isTool));
  return has ? prompt.map(told) : prompt;
}
