import { Readable } from 'node:stream';
import { ApiError } from '../../contract/errors.js';
import type { CallContext } from '../../metering/call-context.js';
import type { Fields } from '../dialects/checks.js';
import { leftOutText } from '../dialects/left-out.js';
import { textsBefore } from '../dialects/made.js';
import { speaksDialect } from '../dialects/turn.js';
import { modelFor } from '../pipeline/checks.js';
import { completeMessage } from './complete.js';
import { translate } from './input.js';
import type { Translated } from './input.js';
import type { MessageParts, MessageService } from './messages.types.js';
import { readMessageRequest } from './request.js';
import { streamMessage } from './stream.js';
import { checkForced, toolsOf } from './tools.js';
import { chatOf, keptAs, MessageWork } from './work.js';
import type { Prepared } from './work.js';

/** The header with the types of the tools that were left out of a call. */
const LEFT_OUT = 'x-penstock-tools-left-out';

/** Steps 5 and 6 of decisions 1. @throws ApiError */
function prepare({ engine, seal }: MessageParts, call: CallContext, body: Fields): Prepared {
  const { models, providers, search } = engine.options;
  const { orgId } = call.principal;
  const model = modelFor(body, { models, caller: call.principal, type: 'chat' });
  const request = readMessageRequest(body);
  const provider = providers.find(model.upstream?.providerId ?? '');
  const isNative = provider !== null && speaksDialect(provider, model, 'messages');
  const tools = toolsOf(body, { hasPort: search.provider !== null });
  const leftOut = isNative ? tools.native(provider).leftOut : tools.leftOut;
  checkForced(body, leftOut);
  const named = leftOutText(leftOut);
  if (named !== null) call.answerHeaders = { ...call.answerHeaders, [LEFT_OUT]: named };
  const translated = translate(body['messages'], {
    system: body['system'],
    open: (sealed) => {
      const carried = seal.open(orgId, sealed);
      return carried?.model === model.id ? carried : null;
    },
    fileIds: isNative && provider.allowedTools?.includes('file_ids') === true,
  });
  return { request, model, tools, translated };
}

const OF_MESSAGES = /^messages\[(\d+)\]/;

/** Converts an error of the chat call to the field names of the dialect. */
function inOwnWords(fault: unknown, { places }: Translated): unknown {
  if (!(fault instanceof ApiError)) return fault;
  const { code, message, details } = fault;
  const own = message.replace(OF_MESSAGES, (_, index: string) => places[Number(index)] ?? 'messages');
  return own === message ? fault : new ApiError(code, own, details);
}

async function admitted(parts: MessageParts, call: CallContext, body: Fields): Promise<MessageWork> {
  let prepared: Prepared;
  try {
    prepared = prepare(parts, call, body);
  } catch (fault) {
    return parts.engine.admission.refuse(call, fault);
  }
  try {
    return await MessageWork.admit(parts, call, prepared);
  } catch (fault) {
    throw inOwnWords(fault, prepared.translated);
  }
}

/** Generations of text in the Messages dialect. */
export function createMessageService(parts: MessageParts): MessageService {
  const { metering } = parts.engine.options;
  return {
    async create(call, body) {
      const [made] = (await textsBefore(metering, call, keptAs(body))) ?? [];
      if (made !== undefined) return { text: made };
      return { text: await completeMessage(await admitted(parts, call, body)) };
    },
    async stream(call, body) {
      const made = await textsBefore(metering, call, keptAs(body));
      if (made !== null) return { events: Readable.from(made) };
      const work = await admitted(parts, call, body);
      return { events: streamMessage(work, await work.turn.stream()) };
    },
    async countTokens(call, body) {
      const prepared = prepare(parts, call, body);
      const { chat, texts } = chatOf(prepared);
      try {
        return await parts.engine.admission.count(call, chat, texts);
      } catch (fault) {
        throw inOwnWords(fault, prepared.translated);
      }
    },
  };
}
