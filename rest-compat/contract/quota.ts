import type { JsonSchema, Route } from '../shared/route.types.js';

interface Bucket {
  bucket: string;
}

interface QuotaProperties {
  [name: string]: JsonSchema;
  quotas: { items: { properties: { [name: string]: JsonSchema; bucket: { enum: string[] } } } };
}

const OBJECT = { type: 'object' } as const;

export const quotaRoutes: Route[] = [
  {
    method: 'GET',
    path: '/quota',
    operationId: 'getQuota',
    tag: 'Quota',
    summary: "Read the organisation's quota",
    document: `query {
      body: quota {
        org_id: orgId
        plan { code name kind entitled period_end: periodEnd }
        quotas { bucket remaining limit used usage_percent: usagePercent }
      }
    }`,
    /** The contract keys buckets by name (contract 2.14), which GraphQL cannot express. */
    respond(body) {
      const quotas = (body['quotas'] as Bucket[]).map(({ bucket, ...state }) => [bucket, state] as const);
      return { body: { ...body, quotas: Object.fromEntries(quotas) } };
    },
    describe(schema) {
      const { quotas, ...properties } = schema['properties'] as QuotaProperties;
      const { bucket, ...state } = quotas.items.properties;
      const byBucket = bucket.enum.map((name) => [
        name,
        { ...OBJECT, properties: state, required: Object.keys(state) },
      ]);
      const buckets = { ...OBJECT, properties: Object.fromEntries(byBucket), required: bucket.enum };
      return { ...schema, properties: { ...properties, quotas: buckets } };
    },
    schemaName: 'Quota',
  },
];
