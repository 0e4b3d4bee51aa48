import { Arg, Resolver, Root, Subscription, type SubscribeResolverData } from 'type-graphql';
import {
  messageBody,
  MessageEvent,
  MessageInput,
  Metered,
  parseMessageEvent,
  type GraphqlContext,
} from '../schema/index.js';

type Subscribing = SubscribeResolverData<unknown, { input: MessageInput }, GraphqlContext>;

/** The source events are JSON texts, which REST passes on unchanged, without a GraphQL execution for each token. */
async function streamMessage({ args, context }: Subscribing): Promise<AsyncIterable<string>> {
  const { call, services, body } = context;
  call.dialect ??= 'messages';
  const { events } = await services.messages.stream(call, body ?? messageBody(args.input));
  return events;
}

@Resolver()
export class MessageSubscriptionResolver {
  @Metered('chat')
  @Subscription(() => MessageEvent, {
    subscribe: streamMessage,
    description:
      'Answers in the form of the Messages convention, event by event. Ending the subscription aborts the answer.',
  })
  modelMessageStream(
    @Root() event: string,
    @Arg('input', () => MessageInput, { description: 'The request.' }) _input: MessageInput,
  ): MessageEvent {
    return parseMessageEvent(event);
  }
}
