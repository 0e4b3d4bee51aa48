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
import { isFields, toolNames } from '../convention/said.js';
import { usageIn } from '../convention/usage.js';
import { ChunkExchange } from './chunk-exchange.js';
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

/** What an upstream spells otherwise than the convention, or refuses: changes the body as it is about to be sent. */
export type ChatDialect = (body: ChatBody & { model: string }) => Record<string, unknown>;

/** By what it is, whatever its headers call it: some upstreams always stream. */
async function parseAnswer(bytes: Buffer, body: ChatBody, transport: Transport): Promise<ChatAnswer> {
  const { timeSlicer } = transport;
  if (isEventStream(textOf(bytes.subarray(0, BEGINNING_BYTES)))) {
    const answer = await assembledAnswer(bytes, { names: toolNames(body), timeSlicer });
    return { text: String(await writeJson(answer, timeSlicer)), parsed: answer };
  }
  const answer = answerOf(bytes, await transport.readAnswer(bytes));
  // A text of megabytes was made of the bytes, and is about to be written: not in one go.
  if (isLongToRead(bytes)) await timeSlicer.run(() => true);
  return answer;
}

/** @throws UpstreamError */
function answerOf(bytes: Buffer, parsed: unknown): ChatAnswer {
  // Some gateways put each answer into a list.
  const [only] = Array.isArray(parsed) && parsed.length === 1 ? (parsed as unknown[]) : [];
  const said = ((only ?? parsed) as Partial<ChatObject> | null) ?? {};
  const { choices, error, id } = said;
  const broken = (what: string): UpstreamError =>
    brokenAnswer(what).telling(isFields(said) ? usageIn(said) : null, id);
  if (error != null) throw broken(`an error with status 200${kindOfError(error)}`);
  if (!Array.isArray(choices) || choices.length === 0) throw broken('no choices');
  checkCount(choices);
  const failed = (choices as unknown[]).find(isFailedChoice) as { error?: unknown } | undefined;
  if (failed !== undefined) throw broken(`a choice that failed${kindOfError(failed.error)}`);
  const answer = (only ?? parsed) as ChatObject;
  const usage = usageIn(answer);
  const whole = usage === null || usage === answer['usage'] ? answer : { ...answer, usage };
  return { text: only === undefined ? textOf(bytes).trim() : JSON.stringify(only), parsed: whole };
}

/** Chat over any upstream that speaks the common chat-completions convention: a thin pass over undici. */
export function createOpenAiCompatibleChat(
  transport: Transport,
  { dialect, refused = new RefusedFields() }: { dialect?: ChatDialect; refused?: RefusedFields } = {},
): ChatProvider {
  const asked = (call: ChatCall) => ({
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
      return refused.send(asked(call), (without) => {
        const body = bodyOf(call, { stream: false, dialect, without, timeSlicer: transport.timeSlicer });
        return body instanceof Promise ? body.then(post) : post(body);
      });
    },
    stream(call: ChatCall): Promise<ChatChunks> {
      const open = (body: string | Buffer): Promise<ChatChunks> =>
        new ChunkExchange(call.signal, transport.secrets).open(transport, { path: CHAT_PATH, body });
      return refused.send(asked(call), (without) => {
        const body = bodyOf(call, { stream: true, dialect, without, timeSlicer: transport.timeSlicer });
        return body instanceof Promise ? body.then(open) : open(body);
      });
    },
  };
}
