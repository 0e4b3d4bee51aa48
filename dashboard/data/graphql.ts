import type { DocumentDecoration, initGraphQLTada } from 'gql.tada';
import type { introspection } from './schema.generated.js';

type Graphql = ReturnType<
  typeof initGraphQLTada<{
    introspection: introspection;
    disableMasking: true;
    scalars: {
      JSON: unknown;
      DateTime: string;
      Decimal: string;
      JobEventType: string;
      PriceUnit: string;
      WebhookEventType: string;
      SafeInt: number;
      BudgetAmount: string | number;
      BudgetUnit: string;
      ChatRole: string;
      ImageSize: string;
      ImageUpscale: string;
      VideoResolution: string;
      VideoAspectRatio: string;
    };
  }>
>;

/** An operation of the schema that knows the types of its answer and of its variables. */
export type Operation<Result, Variables> = DocumentDecoration<Result, Variables>;

/** Root fields are null only where they were refused, and then the request fails whole. */
export type Answered<Result> = { [Field in keyof Result]: NonNullable<Result[Field]> };

/** What an operation answers with. */
export type ResultOf<Document> =
  Document extends DocumentDecoration<infer Result, infer _> ? Answered<Result> : never;

/** The variables of an operation. */
export type VariablesOf<Document> =
  Document extends DocumentDecoration<infer _, infer Variables> ? Variables : never;

/**
 * Types an operation by the schema while it is compiled. At run time a document is its own text: the server parses it, so that the page
 * carries no parser.
 */
export const graphql = ((text: string, fragments: readonly string[] = []) =>
  [text, ...fragments].join('\n')) as unknown as Graphql;

/** The text that a document is at run time. */
export function textOf(document: object): string {
  return document as unknown as string;
}
