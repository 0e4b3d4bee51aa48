import { WEBHOOK_EVENT_DATA } from './events.js';
import type { EventSchema } from './events.js';

const AT = '2026-03-01T12:00:00.000Z';

/** Examples for fields whose schema only says that they are text. */
const TEXTS: Record<string, string> = {
  model: 'sandbox/image-standard',
  agentName: 'Helper',
  input: 'When is the river high?',
  output: 'In April, when the snow melts.',
  errorMessage: 'The upstream did not answer',
  messageId: 'chatcmpl-01jd0000000000000000000000',
  conversationId: 'ses_01jd0000000000000000000000',
  subscriptionId: 'sub_01jd0000000000000000000000',
  planName: 'Pro Monthly',
  name: 'Turbines',
  subject: 'team:web',
  userId: 'usr_01jd0000000000000000000000',
  email: 'ann@example.com',
  outputUrl: 'https://penstock.example/files/org_1/fil_1.png',
};

const NUMBERS: Record<string, number> = {
  totalSteps: 4,
  durationMs: 5120,
  unitsUsed: 1,
  totalTokens: 212,
  remaining: 40,
  limit: 800,
  percentUsed: 95,
  percent: 80,
  spent: 640,
};

/** One valid value of a schema. @param name of its field */
function example(schema: EventSchema, name: string): unknown {
  const { const: fixed, enum: words, examples, oneOf, properties, type } = schema;
  if (fixed !== undefined) return fixed;
  if (Array.isArray(examples)) return examples[0] as unknown;
  if (Array.isArray(words)) return words[0] as unknown;
  if (Array.isArray(oneOf)) return example(oneOf[0] as EventSchema, name);
  if (type === 'number' || type === 'integer') return NUMBERS[name] ?? 1;
  if (typeof properties !== 'object' || properties === null) return TEXTS[name] ?? name;
  const fields = Object.entries(properties as Record<string, EventSchema>);
  return Object.fromEntries(fields.map(([field, of]) => [field, example(of, field)]));
}

/** An event of each type, in the form that a webhook's receiver gets (contract 6.1). */
export function webhookExamples(): Record<string, object> {
  return Object.fromEntries(
    Object.entries(WEBHOOK_EVENT_DATA).map(([type, data]) => [
      type,
      {
        id: 'evt_01jd0000000000000000000000',
        type,
        orgId: 'org_01jd0000000000000000000000',
        timestamp: AT,
        data: example(data, 'data'),
      },
    ]),
  );
}
