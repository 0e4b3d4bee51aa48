import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider';

/** Stands for an empty tool result. */
const NO_OUTPUT = '(no output)';

const isBlank = (text: string): boolean => text.trim() === '';

function withoutBlanks(message: LanguageModelV4Message): LanguageModelV4Message[] {
  if (message.role === 'system') return isBlank(message.content) ? [] : [message];
  if (message.role === 'tool')
    return [
      {
        ...message,
        content: message.content.map((part) =>
          part.type === 'tool-result' && part.output.type === 'text' && isBlank(part.output.value)
            ? { ...part, output: { ...part.output, value: NO_OUTPUT } }
            : part,
        ),
      },
    ];
  const content = message.content.filter((part) => part.type !== 'text' || !isBlank(part.text));
  return content.length === 0 ? [] : [{ ...message, content } as LanguageModelV4Message];
}

/** Trims the end of an assistant's message that the model shall continue. */
function withoutTrailingBlanks(message: LanguageModelV4Message | undefined): void {
  const last = message?.role === 'assistant' ? message.content.at(-1) : undefined;
  if (last?.type === 'text') last.text = last.text.trimEnd();
}

/**
 * Removes empty and blank texts from a prompt, for providers that refuse them or an assistant's message that ends in a blank. A prompt with
 * nothing else stays unchanged, and is refused.
 */
export function withoutBlankTexts(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  const left = prompt.flatMap(withoutBlanks);
  if (!left.some(({ role }) => role !== 'system')) return prompt;
  withoutTrailingBlanks(left.at(-1));
  return left;
}
