import type { JsonSchema, RouteAnswer } from '../route.types.js';

interface Generation {
  job: { id: string; status: string; estimated_credits: number };
  created: number;
  model: string;
  data: unknown;
  usage: unknown;
}

/**
 * Escape hatch of generations: the envelope of 2.1 where there is a result, else the asynchronous answer of 2.10. `X-Job-Id` names the job.
 * @param optional fields of an item of `data` that are left out where null
 */
export function generationAnswer(optional: string[]): (body: Record<string, unknown>) => RouteAnswer {
  return (body) => {
    const { job, ...answer } = body as unknown as Generation;
    const headers = { 'x-job-id': job.id };
    if (answer.data === null) {
      const { id, status, estimated_credits } = job;
      return {
        body: { id, status, created: answer.created, model: answer.model, estimated_credits },
        headers,
      };
    }
    for (const item of Array.isArray(answer.data) ? (answer.data as Record<string, unknown>[]) : [])
      for (const name of optional) if (item[name] === null) delete item[name];
    return { body: answer, headers };
  };
}

/** The schema of {@link generationAnswer}: a result, or the job that was made. */
export function describeGeneration(schema: JsonSchema): JsonSchema {
  const { job: made, ...properties } = schema['properties'] as {
    [name: string]: JsonSchema;
    job: { properties: Record<string, JsonSchema> };
  };
  const { id, status, estimated_credits } = made.properties;
  const { created, model } = properties;
  const result = { ...schema, properties: withResult(properties), required: Object.keys(properties) };
  const job = { id, status, created, model, estimated_credits };
  return { anyOf: [result, { type: 'object', properties: job, required: Object.keys(job) }] };
}

/** A synchronous answer always has its data and usage; the optional fields of an item are left out where they do not apply. */
function withResult(properties: Record<string, JsonSchema>): Record<string, JsonSchema> {
  const { data = {}, usage = {} } = properties;
  return { ...properties, data: { ...data, type: 'array' }, usage: { ...usage, type: 'object' } };
}
