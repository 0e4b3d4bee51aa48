import type { GraphqlContext } from '../context.js';

/** The spend of each key; all keys of a list are read together, once per request. */
const spent = new WeakMap<GraphqlContext['call'], Promise<Map<string, string>>>();

async function read({ call, services }: GraphqlContext, only: string | null): Promise<Map<string, string>> {
  const now = new Date();
  const rows = await services.usage.summary({
    orgId: call.principal.orgId,
    since: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth())),
    interval: 'month',
    groupBy: ['key'],
    filter: only === null ? {} : { keyIds: [only] },
  });
  return new Map(rows.map(({ keyId, costUsd }) => [keyId ?? '', costUsd]));
}

/** The cost of the caller's own calls in the current month, UTC, as a decimal in USD; at most a minute old. */
export async function callersSpend(context: GraphqlContext): Promise<string> {
  const { keyId } = context.call.principal;
  return (await read(context, keyId)).get(keyId) ?? '0';
}

/** The same for one of the organisation's keys. */
export async function spendOf(context: GraphqlContext, keyId: string): Promise<string> {
  let all = spent.get(context.call);
  if (all === undefined) spent.set(context.call, (all = read(context, null)));
  return (await all).get(keyId) ?? '0';
}
