import { Arg, Ctx, FieldResolver, ID, Int, Mutation, Query, Resolver, Root } from 'type-graphql';
import type { GraphqlContext } from '../context.js';
import { Metered, Scope } from '../guard.js';
import { ResponseInput } from './response.input.js';
import { parseResponse, responseBody } from './response.shape.js';
import {
  DeletedResponse,
  Response,
  ResponseConnection,
  ResponseInputItems,
  ResponseProgress,
} from './response.type.js';
import { boundPage } from '../bound.js';
import { After, checkFirst, First, toConnection } from '../connection.js';
import type { Connection } from '../connection.js';
import { ResponseStatus } from '../enums.js';
import { ItemOrder } from '../scalars.js';

const THE_ID = { description: 'Its id.' };

@Resolver()
export class ResponseResolver {
  @Metered('chat')
  @Mutation(() => Response, {
    description:
      'Answers in the form of the Responses convention, in one piece; `responseStream` streams it.',
  })
  async createResponse(
    @Ctx() { call, services, body }: GraphqlContext,
    @Arg('input', () => ResponseInput, { description: 'The request.' }) input: ResponseInput,
  ): Promise<Response> {
    const { dialect } = call;
    call.dialect = 'responses';
    try {
      const { text } = await services.responses.create(call, body ?? responseBody(input));
      return parseResponse(text);
    } finally {
      // Other fields of the same operation have the defaults of their own form.
      if (dialect === undefined) delete call.dialect;
    }
  }

  @Metered('chat')
  @Mutation(() => Response, {
    description:
      'Starts a response in the background and returns at once. Subscribe to `responseEvents(id:, after: 0)` to follow it.',
  })
  async startResponse(
    @Ctx() { call, services, body }: GraphqlContext,
    @Arg('input', () => ResponseInput, { description: 'The request.' }) input: ResponseInput,
    @Arg('idempotencyKey', () => String, {
      nullable: true,
      description:
        'A key that you choose. A second call with the same key returns the response of the first call.',
    })
    idempotencyKey?: string | null,
  ): Promise<Response> {
    const { dialect } = call;
    call.dialect = 'responses';
    try {
      const id = await services.responses.start(call, body ?? responseBody(input), idempotencyKey ?? null);
      return parseResponse(await services.responses.get(call.principal.orgId, id));
    } finally {
      if (dialect === undefined) delete call.dialect;
    }
  }

  @Scope('chat')
  @Query(() => ResponseConnection, { description: "The organisation's stored responses, newest first." })
  async responses(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('status', () => ResponseStatus, { nullable: true, description: 'Only responses in this state.' })
    status: string | null | undefined,
    @First() first: number | null,
    @After() after: string | null | undefined,
  ): Promise<Connection<Response>> {
    const query = { status, first: checkFirst(first), after };
    const { orgId } = call.principal;
    const own = await boundPage(call, {
      kind: 'response',
      after,
      get: async (id) => parseResponse(await services.responses.get(orgId, id)),
      wants: (response) => status == null || response.status === status,
    });
    if (own !== undefined) return toConnection(own, after);
    const { texts, nextCursor } = await services.responses.list(orgId, query);
    return toConnection({ nodes: texts.map(parseResponse), nextCursor }, after);
  }

  @Scope('chat')
  @Query(() => Response, { description: 'A stored response.' })
  async response(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('id', () => ID, THE_ID) id: string,
  ): Promise<Response> {
    return parseResponse(await services.responses.get(call.principal.orgId, id));
  }

  @Scope('chat')
  @Query(() => ResponseInputItems, {
    description: 'The input items of a stored response, without those of the responses that it continues.',
  })
  async responseInputItems(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('id', () => ID, { description: "The response's id." }) id: string,
    @Arg('first', () => Int, { nullable: true, description: '1 to 100, default 20.' }) first?: number | null,
    @Arg('after', () => ID, { nullable: true, description: 'The page starts after the item with this id.' })
    after?: string | null,
    @Arg('order', () => ItemOrder, {
      nullable: true,
      description: '`desc` (default: the latest first) or `asc`.',
    })
    order?: string | null,
  ): Promise<ResponseInputItems> {
    return services.responses.inputItems(call.principal.orgId, id, { limit: first, after, order });
  }

  @Scope('chat', 'member')
  @Mutation(() => DeletedResponse, { description: 'Deletes a stored response.' })
  async deleteResponse(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('id', () => ID, THE_ID) id: string,
  ): Promise<DeletedResponse> {
    await services.responses.delete(call.principal.orgId, id);
    return { id };
  }

  @Scope('chat', 'member')
  @Mutation(() => Response, {
    description: 'Cancels a response in the background. A response that has ended is returned unchanged.',
  })
  async cancelResponse(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('id', () => ID, THE_ID) id: string,
  ): Promise<Response> {
    return parseResponse(await services.responses.cancel(call.principal.orgId, id));
  }
}

@Resolver(() => ResponseProgress)
export class ResponseProgressResolver {
  @FieldResolver(() => Response, { description: 'The response in its current state.' })
  async response(
    @Root() { id }: ResponseProgress,
    @Ctx() { call, services }: GraphqlContext,
  ): Promise<Response> {
    return parseResponse(await services.responses.get(call.principal.orgId, id));
  }
}
