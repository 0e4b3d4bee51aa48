import { Arg, Resolver, Root, Subscription, type SubscribeResolverData } from 'type-graphql';
import {
  Scope,
  UsageExportFormat,
  UsageExportPiece,
  UsageRecordFilterInput,
  type GraphqlContext,
} from '../schema/index.js';

interface Args {
  filter?: UsageRecordFilterInput | null;
  format: 'csv' | 'jsonl';
}

async function* piecesOf({ args, context }: SubscribeResolverData<unknown, Args, GraphqlContext>) {
  const { call, services } = context;
  const { filter, format } = args;
  let sequence = 0;
  for await (const text of services.usage.export({
    orgId: call.principal.orgId,
    filter: filter ?? {},
    format,
  })) {
    sequence += 1;
    yield { sequence, text };
  }
}

/** Records as a file in pieces, which REST writes one after the other. */
@Resolver()
export class UsageExportSubscriptionResolver {
  @Scope('usage')
  @Subscription(() => UsageExportPiece, {
    subscribe: piecesOf,
    description:
      "The organisation's metered operations, newest first, as the text of a file in pieces. It completes after the last piece.",
  })
  usageExport(
    @Root() piece: UsageExportPiece,
    @Arg('filter', () => UsageRecordFilterInput, { nullable: true, description: 'Default: all operations.' })
    _filter: UsageRecordFilterInput | null | undefined,
    @Arg('format', () => UsageExportFormat, { defaultValue: 'csv', description: 'The format of the text.' })
    _format: 'csv' | 'jsonl',
  ): UsageExportPiece {
    return piece;
  }
}
