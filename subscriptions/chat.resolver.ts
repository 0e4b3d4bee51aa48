import { Arg, Int, Resolver, Root, Subscription, type SubscribeResolverData } from 'type-graphql';
import { invalid } from '../src/contract/errors.js';
import type { KeyedChunk } from '../src/generation/index.js';
import {
  chatBody,
  ChatCompletionChunk,
  ChatCompletionInput,
  Metered,
  parseChatChunk,
  type GraphqlContext,
} from '../schema/index.js';

interface Args {
  input: ChatCompletionInput;
  idempotencyKey?: string | null;
  after?: number | null;
}
type Subscribing = SubscribeResolverData<unknown, Args, GraphqlContext>;

/** The source events are the chunks' JSON texts, which REST passes on unchanged, without a GraphQL execution for each token. */
async function streamChat({ args, context }: Subscribing): Promise<AsyncIterable<string | KeyedChunk>> {
  const { call, services, body } = context;
  const { idempotencyKey: key, after } = args;
  if (key != null) {
    const id = await services.responses.startChat(call, chatBody(args.input), key);
    return await services.responseEvents.followChat({ principal: call.principal, id, after: after ?? 0 });
  }
  if (after != null) throw invalid('after needs idempotencyKey', 'after');
  const { chunks } = await services.chat.stream(call, body ?? chatBody(args.input));
  return chunks;
}

@Resolver()
export class ChatSubscriptionResolver {
  @Metered('chat')
  @Subscription(() => ChatCompletionChunk, {
    subscribe: streamChat,
    description:
      'Answers a conversation chunk by chunk. Ending the subscription aborts the answer, unless it has an `idempotencyKey`: then it continues, and a subscription with the same key joins it again, also after its end. It is charged once. `cancelResponseByKey` ends it.',
  })
  chatCompletion(
    @Root() source: string | KeyedChunk,
    @Arg('input', () => ChatCompletionInput, {
      description: 'The conversation and its options, including `streamOptions`.',
    })
    _input: ChatCompletionInput,
    @Arg('idempotencyKey', () => String, {
      nullable: true,
      description: 'Your own name for the answer, of at most 255 characters.',
    })
    _key?: string | null,
    @Arg('after', () => Int, {
      nullable: true,
      description: 'With a key: the sequence of the last chunk that you received; default 0, all of them.',
    })
    _after?: number | null,
  ): ChatCompletionChunk {
    if (typeof source === 'string') return parseChatChunk(source);
    return { ...parseChatChunk(source.chunk), sequence: source.sequence };
  }
}
