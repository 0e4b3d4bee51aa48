import { Arg, Ctx, Mutation, Query, Resolver } from 'type-graphql';
import type { CallContext } from '../../src/metering/call-context.js';
import type { GraphqlContext } from '../context.js';
import { Metered, Scope } from '../guard.js';
import { MessageInput } from './message.input.js';
import { messageBody, parseMessage } from './message.shape.js';
import { Message, MessageTokens } from './message.type.js';

/** Runs work in the dialect. Other fields of the same operation keep their own defaults. */
async function inDialect<T>(call: CallContext, work: () => Promise<T>): Promise<T> {
  const { dialect } = call;
  call.dialect = 'messages';
  try {
    return await work();
  } finally {
    if (dialect === undefined) delete call.dialect;
  }
}

@Resolver()
export class MessageResolver {
  @Metered('chat')
  @Mutation(() => Message, {
    description: 'Returns a whole answer in the form of the Messages convention; `messageStream` streams it.',
  })
  async createModelMessage(
    @Ctx() { call, services, body }: GraphqlContext,
    @Arg('input', () => MessageInput, { description: 'The request.' }) input: MessageInput,
  ): Promise<Message> {
    const { text } = await inDialect(call, () => services.messages.create(call, body ?? messageBody(input)));
    return parseMessage(text);
  }

  @Scope('chat')
  @Query(() => MessageTokens, {
    description: "Counts the tokens of a request's input. Nothing is charged.",
  })
  async modelMessageTokens(
    @Ctx() { call, services, body }: GraphqlContext,
    @Arg('input', () => MessageInput, { description: 'The request whose tokens are counted.' })
    input: MessageInput,
  ): Promise<MessageTokens> {
    const count = (): Promise<number> => services.messages.countTokens(call, body ?? messageBody(input));
    return { inputTokens: await inDialect(call, count) };
  }
}
