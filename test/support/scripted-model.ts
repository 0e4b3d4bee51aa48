import { callOf, nativeMessage, nativeStream, textOf } from '../v1/native-messages.js';
import { nativeResponse, streamedResponse } from '../v1/native-responses.js';
import { chunk, completion, DONE_EVENT, usageChunk, type Reply, type SeenRequest } from './fake-upstream.js';

type Fields = Record<string, unknown>;

/** A scripted tool call, which is made if the client offers the tool. */
export interface ScriptedCall {
  name: string;
  args: Fields;
}

/** A model that makes one of `calls` (the first whose tool is offered), and repeats the tool's result in its final answer. */
export function scriptedModel(calls: readonly ScriptedCall[]): (request: SeenRequest) => Reply {
  return ({ path, body }) => {
    const isStream = body['stream'] === true;
    const turn = path.endsWith('/responses')
      ? responsesTurn
      : path.endsWith('/messages')
        ? messagesTurn
        : chatTurn;
    return turn(body, calls, isStream);
  };
}

const list = (value: unknown): Fields[] => (Array.isArray(value) ? (value as Fields[]) : []);
const BEFORE = 'I use the tool.';
const after = (said: unknown): string => `The tool said: ${JSON.stringify(said)}`;

function wanted(calls: readonly ScriptedCall[], offered: readonly unknown[]): ScriptedCall | undefined {
  return calls.find(({ name }) => offered.includes(name));
}

function chatTurn(body: Fields, calls: readonly ScriptedCall[], isStream: boolean): Reply {
  const last = list(body['messages']).at(-1);
  const offered = list(body['tools']).map((tool) => (tool['function'] as Fields | undefined)?.['name']);
  const call = last?.['role'] === 'tool' ? undefined : wanted(calls, offered);
  const text = call === undefined ? after(last?.['content']) : BEFORE;
  const args = JSON.stringify(call?.args);
  const tool = (piece: string) => ({ name: call?.name, arguments: piece });
  const finish_reason = call === undefined ? 'stop' : 'tool_calls';
  if (!isStream) {
    const asked = { tool_calls: [{ id: 'call_up', type: 'function', function: tool(args) }] };
    const message = { role: 'assistant', content: text, ...(call === undefined ? {} : asked) };
    return { body: completion(text, { choices: [{ index: 0, message, finish_reason }] }) };
  }
  const asked =
    call === undefined
      ? []
      : [
          chunk({ tool_calls: [{ index: 0, id: 'call_up', type: 'function', function: tool('') }] }),
          ...[args.slice(0, 5), args.slice(5)].map((piece) =>
            chunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] }),
          ),
        ];
  return {
    chunks: [
      chunk({ role: 'assistant', content: '' }),
      ...text.split(/(?<= )/).map((content) => chunk({ content })),
      ...asked,
      chunk({}, { finish_reason }),
      usageChunk(10, 5),
      DONE_EVENT,
    ],
  };
}

function responsesTurn(body: Fields, calls: readonly ScriptedCall[], isStream: boolean): Reply {
  const last = list(body['input']).at(-1);
  const offered = list(body['tools']).map(({ name }) => name);
  const call = last?.['type'] === 'function_call_output' ? undefined : wanted(calls, offered);
  const text = call === undefined ? after(last?.['output']) : BEFORE;
  const whole = nativeResponse(text);
  const item = {
    id: 'fc_upstream',
    type: 'function_call',
    status: 'completed',
    call_id: 'call_up',
    name: call?.name,
    arguments: JSON.stringify(call?.args),
  };
  const response = { ...whole, output: [...whole.output, ...(call === undefined ? [] : [item])] };
  return isStream ? { chunks: streamedResponse(response) } : { body: response };
}

function messagesTurn(body: Fields, calls: readonly ScriptedCall[], isStream: boolean): Reply {
  const results = list(list(body['messages']).at(-1)?.['content']).filter(
    ({ type }) => type === 'tool_result',
  );
  const offered = list(body['tools']).map(({ name }) => name);
  const call = results.length > 0 ? undefined : wanted(calls, offered);
  const text = call === undefined ? after(results.at(-1)?.['content']) : BEFORE;
  const reason = call === undefined ? 'end_turn' : 'tool_use';
  if (isStream) {
    const args = JSON.stringify(call?.args);
    const asked = call === undefined ? [] : [callOf('toolu_up', call.name, args.slice(0, 5), args.slice(5))];
    return { chunks: nativeStream([textOf(...text.split(/(?<= )/)), ...asked], { reason }) };
  }
  const asked = { type: 'tool_use', id: 'toolu_up', name: call?.name, input: call?.args };
  const content = [{ type: 'text', text }, ...(call === undefined ? [] : [asked])];
  return { body: nativeMessage(content, { stop_reason: reason }) };
}
