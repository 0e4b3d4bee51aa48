import { Arg, Ctx, Mutation, Resolver } from 'type-graphql';
import { readClientToken } from '../../src/access/index.js';
import type { MadeClientToken, NewClientToken } from '../../src/access/index.js';
import type { GraphqlContext } from '../context.js';
import { Scope } from '../guard.js';
import { contractNames } from '../names.js';
import { CreateClientTokenInput } from './client-token.input.js';
import { CreateClientTokenResult } from './client-token.type.js';

/** A token is bound to what its maker may see. @throws ApiError not_found */
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
      'Makes a credential that a browser may hold: it acts as you, for an hour at most, within what is given here. Only this answer shows the token itself.',
  })
  async createClientToken(
    @Ctx() context: GraphqlContext,
    @Arg('input', () => CreateClientTokenInput, { description: 'What the token may do.' })
    input: CreateClientTokenInput,
  ): Promise<MadeClientToken> {
    const asked = readClientToken(context.body ?? contractNames(input));
    await lookUp(context, asked.bound);
    return await context.services.clientTokens.create(context.call.principal, asked);
  }
}
