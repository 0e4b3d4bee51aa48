import { Arg, Resolver, Root, Subscription, type SubscribeResolverData } from 'type-graphql';
import {
  chatBody,
  ChatCompletionChunk,
  ChatCompletionInput,
  Metered,
  parseChatChunk,
  type GraphqlContext,
} from '../schema/index.js';

type Subscribing = SubscribeResolverData<unknown, { input: ChatCompletionInput }, GraphqlContext>;

/** The source events are the chunks' JSON texts, which REST passes on unchanged, without a GraphQL execution for each token. */
async function streamChat({ args, context }: Subscribing): Promise<AsyncIterable<string>> {
  const { call, services, body } = context;
  const { chunks } = await services.chat.stream(call, body ?? chatBody(args.input));
  return chunks;
}

@Resolver()
export class ChatSubscriptionResolver {
  @Metered('chat')
  @Subscription(() => ChatCompletionChunk, {
    subscribe: streamChat,
    description: 'Answers a conversation chunk by chunk. Ending the subscription aborts the answer.',
  })
  chatCompletion(
    @Root() chunk: string,
    @Arg('input', () => ChatCompletionInput, {
      description: 'The conversation and its options, including `streamOptions`.',
    })
    _input: ChatCompletionInput,
  ): ChatCompletionChunk {
    return parseChatChunk(chunk);
  }
}
