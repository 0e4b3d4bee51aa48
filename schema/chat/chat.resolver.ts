import { Arg, Ctx, Mutation, Resolver } from 'type-graphql';
import type { GraphqlContext } from '../context.js';
import { Metered } from '../guard.js';
import { ChatCompletionInput } from './chat.input.js';
import { chatBody, parseChatCompletion } from './chat.shape.js';
import { ChatCompletion } from './chat.type.js';

@Resolver()
export class ChatResolver {
  @Metered('chat')
  @Mutation(() => ChatCompletion, {
    description:
      'Answers a conversation with a whole answer. The subscription `chatCompletion` streams the answer.',
  })
  async createChatCompletion(
    @Ctx() { call, services, body }: GraphqlContext,
    @Arg('input', () => ChatCompletionInput, { description: 'The conversation and its options.' })
    input: ChatCompletionInput,
  ): Promise<ChatCompletion> {
    const completion = await services.chat.complete(call, body ?? chatBody(input));
    return await parseChatCompletion(completion.text);
  }
}
