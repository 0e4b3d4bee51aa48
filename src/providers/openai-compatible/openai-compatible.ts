import type { TimeSlicer } from '../../collections/time-slicer.js';
import { isLongToRead } from '../../text/read-json.js';
import { writeJson } from '../../text/write-json.js';
import type { UpstreamError } from '../providers.types.js';
import type {
  ChatAnswer,
  ChatBody,
  ChatCall,
  ChatChunks,
  ChatObject,
  ChatProvider,
} from '../providers.types.js';
import { assembledAnswer, isEventStream } from '../convention/assembled.js';
import { checkCount } from '../convention/chunk.js';
import { isFields, messageOf, offersTools } from '../convention/answer-text.js';
import { withoutFunctionCall } from '../convention/streamed-calls.js';
import { findUsage } from '../convention/usage.js';
import { ChunkExchange } from './chunk-exchange.js';
import { eventsOfLines } from './event-texts.js';
import { capName, optionalOfChat } from './optional-chat-fields.js';
import { fieldsWithout, RefusedFields } from './optional-fields.js';
import type { LeftOut } from './optional-fields.js';
import { textOf } from './transport.js';
import type { Transport } from './transport.js';
import { brokenAnswer, isFailedChoice, kindOfError } from './upstream-errors.js';

const CHAT_PATH = '/chat/completions';
/** The beginning of an answer that is searched for signs of an event stream. */
const BEGINNING_BYTES = 1000;

interface Spelling {
  stream: boolean;
  dialect: ChatDialect | undefined;
  without: LeftOut;
  timeSlicer: TimeSlicer;
}

/** The body as the upstream gets it: its own model name, the reserved cap in its spelling, usage always asked for. */
function bodyOf(
  call: ChatCall,
  { stream, dialect, without, timeSlicer }: Spelling,
): string | Promise<Buffer> {
  const body = {
    ...call.body,
    model: call.modelId,
    [capName(call.outputCap, without)]: call.maxTokens,
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
  const left = fieldsWithout(body, without);
  return writeJson(dialect === undefined ? left : dialect(left), timeSlicer);
}

/** Changes the body before it is sent: renames or removes fields in which the upstream differs from the convention. */
export type ChatDialect = (body: ChatBody & { model: string }) => Record<string, unknown>;

/** By what it is, whatever its headers call it: some upstreams always stream. */
async function parseAnswer(bytes: Buffer, body: ChatBody, transport: Transport): Promise<ChatAnswer> {
  const { timeSlicer } = transport;
  const events = isEventStream(textOf(bytes.subarray(0, BEGINNING_BYTES))) ? bytes : eventsOfLines(bytes);
  if (events !== null) {
    const answer = await assembledAnswer(events, { request: body, timeSlicer });
    return { text: String(await writeJson(answer, timeSlicer)), parsed: answer };
  }
  const answer = answerOf(bytes, await transport.readAnswer(bytes), body);
  // A text of megabytes was made of the bytes, and is about to be written: not in one go.
  if (isLongToRead(bytes)) await timeSlicer.run(() => true);
  return answer;
}

/**
 * The answer with a message of the convention in each choice; the same answer if it has them.
 * @param hasTools the request offered tools, so that a call of the older form becomes one of a tool
 * @throws UpstreamError where a choice has nothing
 */
function withMessages(answer: ChatObject, hasTools: boolean): ChatObject {
  const choices = (answer.choices as unknown[]).map((choice) => {
    const given = isFields(choice) ? messageOf(choice) : null;
    if (given === null) throw brokenAnswer('a choice without a message');
    const message = hasTools ? withoutFunctionCall(given) : given;
    const { delta: _, text: _text, ...rest } = choice as Record<string, unknown>;
    return isFields(choice) && message === choice['message'] ? choice : { ...rest, message };
  });
  return choices.every((choice, at) => choice === answer.choices[at]) ? answer : { ...answer, choices };
}

/** @throws UpstreamError */
function answerOf(bytes: Buffer, parsed: unknown, request: ChatBody): ChatAnswer {
  // Some gateways put each answer into a list.
  const [only] = Array.isArray(parsed) && parsed.length === 1 ? (parsed as unknown[]) : [];
  const said = ((only ?? parsed) as Partial<ChatObject> | null) ?? {};
  const { choices, error, id } = said;
  const broken = (what: string): UpstreamError =>
    brokenAnswer(what).withReportedUsage(isFields(said) ? findUsage(said) : null, id);
  if (error != null) throw broken(`an error with status 200${kindOfError(error)}`);
  if (!Array.isArray(choices) || choices.length === 0) throw broken('no choices');
  checkCount(choices);
  const failed = (choices as unknown[]).find(isFailedChoice) as { error?: unknown } | undefined;
  if (failed !== undefined) throw broken(`a choice that failed${kindOfError(failed.error)}`);
  const given = (only ?? parsed) as ChatObject;
  const answer = withMessages(given, offersTools(request));
  const usage = findUsage(answer);
  const whole = usage === null || usage === answer['usage'] ? answer : { ...answer, usage };
  const isAsSent = only === undefined && answer === given;
  return { text: isAsSent ? textOf(bytes).trim() : JSON.stringify(answer), parsed: whole };
}

/** Chat over any upstream that speaks the common chat-completions convention: a thin pass over undici. */
export function createOpenAiCompatibleChat(
  transport: Transport,
  { dialect, refused = new RefusedFields() }: { dialect?: ChatDialect; refused?: RefusedFields } = {},
): ChatProvider {
  const requested = (call: ChatCall) => ({
    path: CHAT_PATH,
    modelId: call.modelId,
    optional: () => optionalOfChat(call),
  });
  return {
    complete(call: ChatCall): Promise<ChatAnswer> {
      const { signal } = call;
      const post = (body: string | Buffer): Promise<ChatAnswer> =>
        transport
          .postForBytes(CHAT_PATH, body, { signal })
          .then((bytes) => parseAnswer(bytes, call.body, transport));
      return refused.send(requested(call), (without) => {
        const body = bodyOf(call, { stream: false, dialect, without, timeSlicer: transport.timeSlicer });
        return body instanceof Promise ? body.then(post) : post(body);
      });
    },
    stream(call: ChatCall): Promise<ChatChunks> {
      const open = (body: string | Buffer): Promise<ChatChunks> =>
        new ChunkExchange(call.signal, transport.secrets).open(transport, { path: CHAT_PATH, body });
      return refused.send(requested(call), (without) => {
        const body = bodyOf(call, { stream: true, dialect, without, timeSlicer: transport.timeSlicer });
        return body instanceof Promise ? body.then(open) : open(body);
      });
    },
  };
}
