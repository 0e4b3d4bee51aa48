import { Arg, ID, Int, Resolver, Root, Subscription, type SubscribeResolverData } from 'type-graphql';
import {
  Metered,
  parseResponseEvent,
  parseResponseProgress,
  responseBody,
  ResponseEvent,
  ResponseInput,
  ResponseProgress,
  Scope,
  type GraphqlContext,
} from '../schema/index.js';

type Subscribing = SubscribeResolverData<unknown, { input: ResponseInput }, GraphqlContext>;

/** The source events are JSON texts, which REST passes on unchanged, without a GraphQL execution for each token. */
async function streamResponse({ args, context }: Subscribing): Promise<AsyncIterable<string>> {
  const { call, services, body } = context;
  call.dialect ??= 'responses';
  const requested = body ?? responseBody(args.input);
  if (requested['background'] === true) {
    const id = await services.responses.start(call, requested);
    return await services.responseEvents.follow({ principal: call.principal, id, after: 0 });
  }
  const { events } = await services.responses.stream(call, requested);
  return events;
}

interface Following {
  id: string;
  after?: number | null;
}

function followResponse({ args, context }: SubscribeResolverData<unknown, Following, GraphqlContext>) {
  const { call, services } = context;
  const { id, after } = args;
  return services.responseEvents.follow({ principal: call.principal, id, after: after ?? undefined });
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
    @Arg('input', () => ResponseInput, { description: 'The request.' }) _input: ResponseInput,
  ): ResponseEvent {
    return parseResponseEvent(event);
  }

  @Scope('chat')
  @Subscription(() => ResponseProgress, {
    subscribe: followResponse,
    description:
      'The events of a response that is worked on without its caller. Without `after` the first item is the latest event. With `after` only the events after that one are sent (0: all events). It completes after the last event.',
  })
  responseEvents(
    @Root() event: string,
    @Arg('id', () => ID, { description: 'Id of the response.' }) id: string,
    @Arg('after', () => Int, {
      nullable: true,
      description: 'The sequence of the last event that you received.',
    })
    _after?: number,
  ): ResponseProgress {
    return parseResponseProgress(id, event);
  }
}
