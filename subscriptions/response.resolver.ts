import { Arg, Resolver, Root, Subscription, type SubscribeResolverData } from 'type-graphql';
import {
  Metered,
  parseResponseEvent,
  responseBody,
  ResponseEvent,
  ResponseInput,
  type GraphqlContext,
} from '../schema/index.js';

type Subscribing = SubscribeResolverData<unknown, { input: ResponseInput }, GraphqlContext>;

/** The source events are JSON texts, which REST passes on unchanged, without a GraphQL execution for each token. */
async function streamResponse({ args, context }: Subscribing): Promise<AsyncIterable<string>> {
  const { call, services, body } = context;
  call.dialect ??= 'responses';
  const { events } = await services.responses.stream(call, body ?? responseBody(args.input));
  return events;
}

@Resolver()
export class ResponseSubscriptionResolver {
  @Metered('chat')
  @Subscription(() => ResponseEvent, {
    subscribe: streamResponse,
    description:
      'Answers in the form of the Responses convention, event by event. Ending the subscription aborts the answer.',
  })
  responseStream(
    @Root() event: string,
    @Arg('input', () => ResponseInput, { description: 'What to answer, and how.' }) _input: ResponseInput,
  ): ResponseEvent {
    return parseResponseEvent(event);
  }
}
