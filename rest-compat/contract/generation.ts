import type { JsonSchema, RouteAnswer } from '../shared/route.types.js';

interface Generation {
  job: { id: string; status: string; estimated_credits: number };
  created: number;
  model: string;
  data: unknown;
  usage: unknown;
}

/**
 * Escape hatch of generations: the envelope of 2.1 if there is a result, else the asynchronous answer of 2.10. `X-Job-Id` has the job's id.
 * @param optional fields of an item of `data` that are omitted if null
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

/** The same document for rows that always wait for the result. */
export const withoutAsync = (document = ''): string =>
  document.replace(', $async: Boolean = false', '').replace(', async: $async', '');

/** Escape hatch of speech and transcription: the fields of `data` are at the top level of the answer (contract 2.8, 2.9). */
export function flatAnswer(body: Record<string, unknown>): RouteAnswer {
  const { body: shown, headers } = generationAnswer([])(body);
  const { data, created, ...rest } = shown as Record<string, unknown>;
  const flat = data === undefined ? shown : { created, ...(data as object), ...rest };
  return { body: flat, ...(headers ? { headers } : {}) };
}

interface Described {
  result: Record<string, JsonSchema>;
  job: JsonSchema;
}

function described(schema: JsonSchema): Described {
  const { job: made, ...result } = schema['properties'] as {
    [name: string]: JsonSchema;
    job: { properties: Record<string, JsonSchema> };
  };
  const { id, status, estimated_credits } = made.properties;
  const { created, model } = result;
  const job = { id, status, created, model, estimated_credits };
  const required = Object.keys(job);
  return { result, job: { title: 'JobCreated', type: 'object', properties: job, required } };
}

function either(
  properties: Record<string, JsonSchema>,
  job: JsonSchema,
  optional: string[] = [],
): JsonSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { anyOf: [{ type: 'object', properties, required }, job] };
}

/** The schema of {@link generationAnswer}: a result, or the created job. */
export function describeGeneration(schema: JsonSchema): JsonSchema {
  const { result, job } = described(schema);
  return either(withResult(result, 'array'), job);
}

/** The same if `data` is one object. */
export function describeObjectGeneration(schema: JsonSchema): JsonSchema {
  const { result, job } = described(schema);
  return either(withResult(result, 'object'), job);
}

/** The schema of {@link flatAnswer}; some fields of `data` may be absent. */
export function describeFlatGeneration(schema: JsonSchema, hidden: string[] = []): JsonSchema {
  const { result, job } = described(schema);
  const { created = {}, data = {}, ...rest } = withResult(result, 'object');
  const fields = Object.entries(data['properties'] as Record<string, JsonSchema>);
  const shown = Object.fromEntries(fields.filter(([name]) => !hidden.includes(name)));
  return either({ created, ...shown, ...rest }, job);
}

/** A synchronous answer always has its data and usage; the optional fields of an item are omitted if they do not apply. */
function withResult(
  properties: Record<string, JsonSchema>,
  type: 'array' | 'object',
): Record<string, JsonSchema> {
  const { data = {}, usage = {} } = properties;
  return { ...properties, data: { ...data, type }, usage: { ...usage, type: 'object' } };
}
