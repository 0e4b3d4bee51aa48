import type { GraphQLSchema } from 'graphql';
import type { BoundParameter } from './bind.js';
import { bindParameter } from './bind.js';
import type { CompiledOperation } from './compile.js';
import { compile } from './compile.js';
import type { Route } from './route.types.js';
import { pathsOf } from './router.js';
import type { TablePath } from './router.js';

/** A row with its documents compiled. */
export interface Endpoint {
  route: Route;
  document: CompiledOperation;
  stream: CompiledOperation | null;
  /** Variables that come from the path or the query. */
  parameters: readonly BoundParameter[];
  pathVariables(segments: Record<string, string>): Record<string, unknown>;
}

/** The variable whose place a request's body takes. */
export const BODY_VARIABLE = 'input';

/** @throws Error where a document no longer fits the schema: a route that lies stops the boot */
export function mountRoute(schema: GraphQLSchema, route: Route): Endpoint {
  const document = compile(schema, route.document);
  const parameters = document.variables
    .filter((variable) => variable.name !== BODY_VARIABLE)
    .map((variable) => bindParameter(variable, route.parameters?.[variable.name]));
  return {
    route,
    document,
    stream: route.streamDocument === undefined ? null : compile(schema, route.streamDocument),
    parameters,
    pathVariables: route.pathVariables ?? ((segments) => segments),
  };
}

/** @throws Error as {@link mountRoute} */
export function mount(schema: GraphQLSchema, table: readonly Route[]): TablePath<Endpoint>[] {
  return pathsOf(table.map((route) => mountRoute(schema, route)));
}
