import type { GraphQLSchema } from 'graphql';
import { OperationTypeNode } from 'graphql';
import type { BoundParameter } from './bind.js';
import { bindParameter } from './bind.js';
import type { CompiledOperation, Operation } from './compile.js';
import { compile, findOperation } from './compile.js';
import type { Face } from './convention.types.js';
import type { MountedFace, RestOptions } from './rest.types.js';
import type { Route } from './route.types.js';
import { isKnown, pathsOf } from './path-table.js';
import type { TablePath } from './path-table.js';

/** A row with its document compiled. */
export interface Endpoint {
  route: Route;
  /** The root field that the row calls. Its guard is the row's guard. */
  operation: Operation;
  /** Null if the engine writes the answer. */
  document: CompiledOperation | null;
  /** The subscription that streams the same call. */
  stream: Operation | null;
  /** Variables that come from the path or the query. */
  parameters: readonly BoundParameter[];
  pathVariables(segments: Record<string, string>): Record<string, unknown>;
}

/** The variable that receives the request's body. */
export const BODY_VARIABLE = 'input';

/** The description and the table of a face mount the same rows. */
const endpoints = new WeakMap<GraphQLSchema, Map<Route, Endpoint>>();

/** Compiles a row, once for each schema. @throws Error if a document no longer fits the schema: then the start fails */
export function mountRoute(schema: GraphQLSchema, route: Route): Endpoint {
  const known = endpoints.get(schema) ?? new Map<Route, Endpoint>();
  endpoints.set(schema, known);
  const endpoint = known.get(route) ?? compileRoute(schema, route);
  known.set(route, endpoint);
  return endpoint;
}

function compileRoute(schema: GraphQLSchema, route: Route): Endpoint {
  const document = route.document === undefined ? null : compile(schema, route.document);
  const operation = document ?? operationOf(schema, route);
  const parameters = operation.variables
    .filter((variable) => variable.name !== BODY_VARIABLE)
    .map((variable) => bindParameter(variable, route.parameters?.[variable.name]));
  return {
    route,
    operation,
    document,
    stream:
      route.streamOperation === undefined
        ? null
        : findOperation(schema, OperationTypeNode.SUBSCRIPTION, route.streamOperation),
    parameters,
    pathVariables: route.pathVariables ?? ((segments) => segments),
  };
}

function operationOf(schema: GraphQLSchema, { operation, path }: Route): Operation {
  if (operation === undefined) throw new Error(`${path}: neither a document nor an operation`);
  return findOperation(schema, OperationTypeNode.MUTATION, operation);
}

/** The document of a row; throws if the row has none. */
export function documentOf({ document, route }: Endpoint): CompiledOperation {
  if (document === null) throw new Error(`${route.path} has no document`);
  return document;
}

function mount(schema: GraphQLSchema, table: readonly Route[]): TablePath<Endpoint>[] {
  return pathsOf(table.map((route) => mountRoute(schema, route)));
}

/** The doubled prefix of a path whose base address was joined twice (`/v1/v1/messages`). */
const DOUBLED_BASE = /^(?:\/api)?\/v1(?=\/)/;

/** @throws Error as {@link mountRoute} */
export function mountFaces(options: RestOptions, faces: readonly Face[]): MountedFace[] {
  const mounted = faces.map((face) => ({ face, paths: mount(options.schema, face.routes) }));
  return mounted.map(({ face, paths }) => ({
    ...face,
    paths,
    openapi: Buffer.from(options.openapi[face.path] ?? ''),
    elsewhere(path) {
      const bare = path.replace(DOUBLED_BASE, '');
      // The table's own base path comes first: a doubled path was meant for it.
      const ordered = [{ face, paths }, ...mounted.filter((other) => other.face !== face)];
      const known = ordered.find((other) => isKnown(other.paths, bare));
      return known === undefined ? null : options.publicUrl + known.face.path + bare;
    },
  }));
}
