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

/** An operation of the schema, with the types of its answer and its variables. */
export type Operation<Result, Variables> = DocumentDecoration<Result, Variables>;

/** The answer with root fields that are not null. A root field is null only if it was refused, and then the whole request fails. */
export type Answered<Result> = { [Field in keyof Result]: NonNullable<Result[Field]> };

/** The answer of an operation. */
export type ResultOf<Document> =
  Document extends DocumentDecoration<infer Result, infer _> ? Answered<Result> : never;

/** The variables of an operation. */
export type VariablesOf<Document> =
  Document extends DocumentDecoration<infer _, infer Variables> ? Variables : never;

/**
 * Gives an operation its types from the schema at compile time. At run time a document is only its text. The server parses the text, so the page
 * needs no parser.
 */
export const graphql = ((text: string, fragments: readonly string[] = []) =>
  [text, ...fragments].join('\n')) as unknown as Graphql;

/** The text that a document is at run time. */
export function textOf(document: object): string {
  return document as unknown as string;
}
