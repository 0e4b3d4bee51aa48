import type { ParameterHint, Route } from '../shared/route.types.js';

const TOKENS = 'input cached_input: cachedInput cache_write: cacheWrite output reasoning';

/** A ledger row in the contract's spelling (beyond 13.1). */
const RECORD = `
  id operation state status error_code: errorCode created_at: createdAt settled_at: settledAt sequence key_id: keyId
  end_user: endUser tags model: modelId answered_model: answeredModelId provider upstream_id: upstreamId request_id: requestId job_id: jobId
  run_id: runId parent_run_id: parentRunId latency_ms: latencyMs first_token_ms: firstTokenMs tokens { ${TOKENS} }
  cost_usd: costUsd cost_version: costVersion amounts { bucket amount } granted { bucket amount }
  client { service_client: serviceClient client_name: clientName user_agent: userAgent }`;

const ROW = `
  start model provider key_id: keyId end_user: endUser tag operation status requests errors tokens { ${TOKENS} }
  cost_usd: costUsd unpriced amounts { bucket amount } latency_ms: latencyMs { p50 p95 }`;

const FILTER_VARIABLES = `$models: [String!], $providers: [String!], $key_ids: [ID!], $end_users: [String!], $tags: [String!], $operations: [UsageOperation!],
  $statuses: [OperationStatus!]`;
const FILTER = `models: $models, providers: $providers, keyIds: $key_ids, endUsers: $end_users, tags: $tags, operations: $operations,
  statuses: $statuses`;

const SEVERAL = 'For several values, separate them with commas or repeat the parameter.';
const filters: Record<string, ParameterHint> = {
  models: { description: `Ids of requested models. ${SEVERAL}` },
  providers: { description: `Providers of the models that answered. ${SEVERAL}` },
  key_ids: { description: `Ids of API keys. ${SEVERAL}` },
  end_users: {
    description: 'End users that calls name. For several values, repeat the parameter.',
    commas: false,
  },
  tags: { description: `Tags; one matching tag is enough. ${SEVERAL}` },
  operations: { description: `Kinds of operation, such as chat or image. ${SEVERAL}` },
  statuses: { description: `Outcomes of operations. ${SEVERAL}` },
};
/** 1970 to 9999. */
const YEARS = '^(19[7-9][0-9]|[2-9][0-9]{3})-';

const times: Record<string, ParameterHint> = {
  since: { description: 'Admitted at this time or later.', pattern: YEARS, example: '2026-11-01T00:00:00Z' },
  until: { description: 'Admitted before this time.', pattern: YEARS, example: '2026-12-01T00:00:00Z' },
};

interface Amount {
  bucket: string;
  amount: number;
}

/** The contract keys buckets by name, which GraphQL cannot express; buckets without an amount are omitted. */
const byBucket = (amounts: Amount[]) =>
  Object.fromEntries(amounts.map(({ bucket, amount }) => [bucket, amount]));

const AMOUNTS = { type: 'object', additionalProperties: { type: 'number' } } as const;

type Described = Record<string, unknown>;

/** The schema of a list whose items have amounts by bucket. */
function describeList(schema: Described, list: string, names: readonly string[]): Described {
  const properties = schema['properties'] as Record<string, { items: { properties: Described } }>;
  const { items, ...rest } = properties[list] as { items: { properties: Described } };
  const amounts = Object.fromEntries(
    names.map((name) => [
      name,
      { ...AMOUNTS, description: (items.properties[name] as Described)['description'] },
    ]),
  );
  return {
    ...schema,
    properties: {
      ...properties,
      [list]: { ...rest, items: { ...items, properties: { ...items.properties, ...amounts } } },
    },
  };
}

const common = { method: 'GET', tag: 'Usage' } as const;

export const usageRoutes: Route[] = [
  {
    ...common,
    path: '/usage/records',
    operationId: 'listUsageRecords',
    summary: 'List metered operations, newest first',
    document: `query ($since: DateTime, $until: DateTime, ${FILTER_VARIABLES}, $limit: Int = 20, $cursor: String) {
      body: usageRecords(filter: { since: $since, until: $until, ${FILTER} }, first: $limit, after: $cursor) {
        records: nodes { ${RECORD} } next_cursor: nextCursor
      }
    }`,
    parameters: {
      ...times,
      ...filters,
      limit: { description: 'The maximum of records in the page.', minimum: 1, maximum: 100 },
      cursor: {
        description: '`next_cursor` of the previous page.',
        pattern: '^[0-9]{1,18}[.][0-9A-Za-z_-]{1,100}$',
      },
    },
    respond(body) {
      const records = (body['records'] as { amounts: Amount[]; granted: Amount[] }[]).map((record) => ({
        ...record,
        amounts: byBucket(record.amounts),
        granted: byBucket(record.granted),
      }));
      return { body: { ...body, records } };
    },
    describe: (schema) => describeList(schema, 'records', ['amounts', 'granted']),
    schemaName: 'UsageRecordList',
  },
  {
    ...common,
    path: '/usage/summary',
    operationId: 'getUsageSummary',
    summary: 'Sum usage by intervals and at most two dimensions',
    description:
      'The sums are at most a minute old. An operation belongs to the interval of its end, and counts once for each of its tags. Dimensions that were not requested are null. An answer of more than 10,000 rows is refused with 400.',
    document: `query ($since: DateTime, $until: DateTime, $interval: UsageInterval = day, $group_by: [UsageDimension!], $time_zone: String,
      ${FILTER_VARIABLES}) {
      body: usageSummary(since: $since, until: $until, interval: $interval, groupBy: $group_by, timeZone: $time_zone, filter: { ${FILTER} }) { ${ROW} }
    }`,
    parameters: {
      since: {
        description:
          'From this time on, rounded down to a quarter of an hour. Default: 30 days before `until`.',
        pattern: YEARS,
        example: '2026-11-01T00:00:00Z',
      },
      until: {
        description: 'Before this time, rounded up to a quarter of an hour. Default: now.',
        pattern: YEARS,
        example: '2026-12-01T00:00:00Z',
      },
      interval: { description: 'The length of the intervals.', example: 'day' },
      group_by: { description: `At most two dimensions. ${SEVERAL}`, maxItems: 2 },
      time_zone: { description: 'The time zone of days and months. Default: UTC.', example: 'Europe/Berlin' },
      ...filters,
    },
    respond: (body) => ({
      body: {
        rows: (body as unknown as { amounts: Amount[] }[]).map((row) => ({
          ...row,
          amounts: byBucket(row.amounts),
        })),
      },
    }),
    describe: (schema) =>
      describeList({ type: 'object', properties: { rows: schema }, required: ['rows'] }, 'rows', ['amounts']),
    schemaName: 'UsageSummary',
  },
  {
    ...common,
    path: '/usage/export',
    operationId: 'exportUsage',
    summary: 'Download metered operations as a file, newest first',
    description:
      'The first line of CSV has the names of the columns. In CSV a text that a spreadsheet would run as a formula begins with an apostrophe. If the connection breaks off, the file is incomplete.',
    document: `subscription ($format: UsageExportFormat = csv, $since: DateTime, $until: DateTime, ${FILTER_VARIABLES}) {
      body: usageExport(format: $format, filter: { since: $since, until: $until, ${FILTER} }) { text }
    }`,
    parameters: {
      format: { description: 'CSV (RFC 4180), or one JSON object per line.' },
      ...times,
      ...filters,
    },
    raw: 'text',
    textHeaders: ({ format }) => ({
      'content-type': format === 'jsonl' ? 'application/jsonl; charset=utf-8' : 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="usage.${format === 'jsonl' ? 'jsonl' : 'csv'}"`,
    }),
    alsoAnswers: ['text/csv', 'application/jsonl'],
    bytesOnly: true,
    schemaName: 'UsageExport',
  },
];
