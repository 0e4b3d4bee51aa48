import { asyncApiDocument } from '../../schema/index.js';

interface OpenApi {
  components: { schemas: { Job: Record<string, unknown> } };
}

/** The AsyncAPI document of webhooks and Kafka messages. @param openapi the text of the description of /api/v1, which has what a job is */
export function asyncApiOf(openapi: string): object {
  const { Job } = (JSON.parse(openapi) as OpenApi).components.schemas;
  return asyncApiDocument(Job);
}
