import { Arg, Ctx, Mutation, Resolver } from 'type-graphql';
import { readClientToken } from '../../src/access/index.js';
import type { MadeClientToken, NewClientToken } from '../../src/access/index.js';
import type { GraphqlContext } from '../context.js';
import { Scope } from '../guard.js';
import { contractNames } from '../names.js';
import { CreateClientTokenInput } from './client-token.input.js';
import { CreateClientTokenResult } from './client-token.type.js';

/** A token can only be bound to an object that its creator can see. @throws ApiError not_found */
async function lookUp({ call, services }: GraphqlContext, bound: NewClientToken['bound']): Promise<void> {
  if (bound == null) return;
  const { principal } = call;
  const { kind, id } = bound;
  if (kind === 'job') await services.jobs.get(principal.orgId, id);
  else if (kind === 'run') await services.agentRuns.get(principal, null, id);
  else if (kind === 'response') await services.responses.get(principal.orgId, id);
  else await services.agents.get(principal, id);
}

/** Credentials for browsers (beyond 14.1). */
@Resolver()
export class ClientTokenResolver {
  @Scope('tokens', 'member')
  @Mutation(() => CreateClientTokenResult, {
    description:
      'Creates a credential for a browser. It acts as you, for at most an hour, within the given limits. Only this answer shows the token itself.',
  })
  async createClientToken(
    @Ctx() context: GraphqlContext,
    @Arg('input', () => CreateClientTokenInput, { description: 'The rights of the token.' })
    input: CreateClientTokenInput,
  ): Promise<MadeClientToken> {
    const requested = readClientToken(context.body ?? contractNames(input));
    await lookUp(context, requested.bound);
    return await context.services.clientTokens.create(context.call.principal, requested);
  }
}
