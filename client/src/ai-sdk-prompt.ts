import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4ToolResultOutput,
} from '@ai-sdk/provider';

type Fields = Record<string, unknown>;

/** Encodes bytes as base64. It works in portions because a function call takes a limited number of arguments. */
export function base64Of(data: Uint8Array | string): string {
  if (typeof data === 'string') return data;
  let text = '';
  for (let at = 0; at < data.length; at += 8192) text += String.fromCharCode(...data.subarray(at, at + 8192));
  return btoa(text);
}

function addressOf({ data, mediaType }: LanguageModelV4FilePart): string {
  if (data.type === 'url') return data.url.href;
  if (data.type === 'data') {
    const type = mediaType.endsWith('/*') || !mediaType.includes('/') ? 'image/png' : mediaType;
    return `data:${type};base64,${base64Of(data.data)}`;
  }
  throw new TypeError(`Penstock takes no file of the form ${data.type}`);
}

function fileOf(part: LanguageModelV4FilePart): Fields {
  if (part.mediaType.startsWith('image')) return { type: 'image_url', image_url: { url: addressOf(part) } };
  const { filename = 'file' } = part;
  return { type: 'file', file: { filename, file_data: addressOf(part) } };
}

function outputOf(output: LanguageModelV4ToolResultOutput): string {
  if (output.type === 'execution-denied') return output.reason ?? 'The execution was denied';
  if (output.type === 'text' || output.type === 'error-text') return output.value;
  return JSON.stringify(output.value);
}

function assistant(content: Extract<LanguageModelV4Message, { role: 'assistant' }>['content']): Fields {
  const texts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const thoughts = content.flatMap((part) => (part.type === 'reasoning' ? [part.text] : []));
  const calls = content.flatMap((part) =>
    part.type === 'tool-call'
      ? [
          {
            id: part.toolCallId,
            type: 'function',
            function: { name: part.toolName, arguments: JSON.stringify(part.input) },
          },
        ]
      : [],
  );
  return {
    role: 'assistant',
    content: texts.length === 0 && calls.length > 0 ? null : texts.join(''),
    ...(thoughts.length === 0 ? {} : { reasoning_content: thoughts.join('') }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function messagesOf(message: LanguageModelV4Message): Fields[] {
  if (message.role === 'system') return [{ role: 'system', content: message.content }];
  if (message.role === 'assistant') return [assistant(message.content)];
  if (message.role === 'tool')
    return message.content.flatMap((part) =>
      part.type === 'tool-result'
        ? [{ role: 'tool', tool_call_id: part.toolCallId, content: outputOf(part.output) }]
        : [],
    );
  const [only, ...more] = message.content;
  if (only?.type === 'text' && more.length === 0) return [{ role: 'user', content: only.text }];
  const parts = message.content.map((part) =>
    part.type === 'text' ? { type: 'text', text: part.text } : fileOf(part),
  );
  return [{ role: 'user', content: parts }];
}

function formatOf(format: LanguageModelV4CallOptions['responseFormat']): Fields {
  if (format?.type !== 'json') return {};
  if (format.schema === undefined) return { response_format: { type: 'json_object' } };
  const { schema, name = 'answer', description } = format;
  const named = { name, schema, ...(description === undefined ? {} : { description }) };
  return { response_format: { type: 'json_schema', json_schema: named } };
}

function toolsOf({ tools, toolChoice }: LanguageModelV4CallOptions): Fields {
  const functions = (tools ?? []).flatMap((tool) =>
    tool.type === 'function'
      ? [
          {
            type: 'function',
            function: { name: tool.name, description: tool.description, parameters: tool.inputSchema },
          },
        ]
      : [],
  );
  if (functions.length === 0) return {};
  const choice =
    toolChoice?.type === 'tool'
      ? { type: 'function', function: { name: toolChoice.toolName } }
      : toolChoice?.type;
  return { tools: functions, ...(choice === undefined ? {} : { tool_choice: choice }) };
}

/** The body of a chat completion. The fields of `providerOptions.penstock` are sent unchanged. */
export function bodyOf(modelId: string, options: LanguageModelV4CallOptions): Fields {
  const { reasoning } = options;
  const given: Fields = {
    max_tokens: options.maxOutputTokens,
    temperature: options.temperature,
    top_p: options.topP,
    presence_penalty: options.presencePenalty,
    frequency_penalty: options.frequencyPenalty,
    stop: options.stopSequences,
    seed: options.seed,
    reasoning_effort: reasoning === 'provider-default' ? undefined : reasoning,
  };
  return {
    model: modelId,
    messages: options.prompt.flatMap(messagesOf),
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    ...formatOf(options.responseFormat),
    ...toolsOf(options),
    ...options.providerOptions?.['penstock'],
  };
}
