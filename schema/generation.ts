import { ApiError } from '../src/contract/errors.js';
import type { Tool } from '../src/contract/words.js';
import type { GraphqlContext } from './context.js';
import { camelNames, contractNames } from './names.js';

/**
 * One generation of any kind, as its GraphQL type `{job, created, data, model, modelTier, usage}`: with the REST body if there is one,
 * else with the input in the contract's spelling.
 * @throws ApiError in the order of decisions 1
 */
export async function generate<Shown>(
  tool: Tool,
  context: GraphqlContext,
  args: { input: object; async: boolean },
): Promise<Shown> {
  const body = context.body ?? contractNames(args.input);
  const { async } = args;
  const answer = await context.services.generation
    .generate(tool, context.call, body, { async })
    .catch((error: unknown) => {
      const jobId = error instanceof ApiError ? error.details.headers?.['X-Job-Id'] : undefined;
      if (jobId !== undefined) context.onJob?.(jobId);
      throw error;
    });
  context.onJob?.(answer.job.id);
  return { ...answer, data: camelNames(answer.data), usage: camelNames(answer.usage) } as Shown;
}
