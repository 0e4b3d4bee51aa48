import { Arg, Ctx, FieldResolver, ID, Int, Mutation, Query, Resolver, Root } from 'type-graphql';
import type { GraphqlContext } from '../context.js';
import { Metered, Scope } from '../guard.js';
import { ResponseInput } from './response.input.js';
import { parseResponse, responseBody } from './response.shape.js';
import {
  CancelByKeyResult,
  DeletedResponse,
  Response,
  ResponseConnection,
  ResponseInputItems,
  ResponseProgress,
} from './response.type.js';
import { boundPage } from '../bound.js';
import { After, Before, First, Last, pageQuery, toConnection } from '../connection.js';
import type { Connection } from '../connection.js';
import { ItemOrder, ResponseStatus } from '../enums.js';
import { ModelObject, modelOf } from '../model/model.type.js';

const THE_ID = { description: 'Its id.' };

@Resolver()
export class ResponseResolver {
  @Metered('chat')
  @Mutation(() => Response, {
    description:
      'Returns a whole answer in the form of the Responses convention; `responseStream` streams it.',
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
      // Other fields of the same operation keep their own defaults.
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
    @Last() last: number | null | undefined,
    @Before() before: string | null | undefined,
  ): Promise<Connection<Response>> {
    const query = { status, ...pageQuery({ first, after, last, before }) };
    const { orgId } = call.principal;
    const own = await boundPage(call, {
      kind: 'response',
      after,
      get: async (id) => parseResponse(await services.responses.get(orgId, id)),
      wants: (response) => status == null || response.status === status,
    });
    if (own !== undefined) return toConnection(own, after);
    const page = await services.responses.list(orgId, query);
    return toConnection({ ...page, nodes: page.nodes.map(parseResponse) }, after);
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
    description:
      'The input items of a stored response, without the items of earlier responses that it continues.',
  })
  async responseInputItems(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('id', () => ID, { description: "The response's id." }) id: string,
    @Arg('first', () => Int, { nullable: true, description: '1 to 100, default 20.' }) first?: number | null,
    @Arg('after', () => ID, { nullable: true, description: 'The page starts after the item with this id.' })
    after?: string | null,
    @Arg('order', () => ItemOrder, {
      nullable: true,
      description: 'Default: `desc`.',
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
    const text = await services.responses.delete(call.principal.orgId, id);
    return { id, response: text === null ? null : parseResponse(text) };
  }

  @Scope('chat', 'member')
  @Mutation(() => Response, {
    description: 'Cancels a response. An ended response is returned unchanged.',
  })
  async cancelResponse(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('id', () => ID, THE_ID) id: string,
  ): Promise<Response> {
    return parseResponse(await services.responses.cancel(call.principal.orgId, id));
  }

  @Scope('chat', 'member')
  @Mutation(() => CancelByKeyResult, {
    description:
      'Cancels what `startResponse` or `chatCompletion` started under an `idempotencyKey`: who stops reading a chat knows its key before its id.',
  })
  async cancelResponseByKey(
    @Ctx() { call, services }: GraphqlContext,
    @Arg('idempotencyKey', () => String, { description: 'The key.' }) key: string,
  ): Promise<CancelByKeyResult> {
    const text = await services.responses.cancelByKey(call.principal.orgId, key);
    return { response: text === null ? null : parseResponse(text) };
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

@Resolver(() => Response)
export class ResponseEdges {
  @FieldResolver(() => ID, { description: 'Id of the model that answers.' })
  modelId(@Root() { model }: Response): string {
    return model;
  }

  @FieldResolver(() => ModelObject, {
    nullable: true,
    description: 'The model that answers; null if it is no longer in the catalogue.',
  })
  model(@Root() { model }: Response, @Ctx() { services }: GraphqlContext): ModelObject | null {
    return modelOf(services.models, model);
  }
}
