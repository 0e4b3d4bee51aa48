import type { Route } from './route.types.js';

/** A router's value of a path parameter: one value, or the decoded segments of the path's rest. */
export type PathValues = Readonly<Record<string, string | string[]>>;

/** A path of the table, with the rows of its methods. */
export interface TablePath<Target> {
  /** In the form of rows: `/jobs/{jobId}`. */
  path: string;
  /** In the form of Express: `/jobs/:jobId`. */
  pattern: string;
  targets: ReadonlyMap<Route['method'], Target>;
  /** Its methods, in the form of the header `Allow`. */
  allow: string;
}

const isParameter = (segment: string): boolean => segment.startsWith('{');
const nameOf = (segment: string): string => segment.replace(/^\{|\+?\}$/g, '');
/** The parameter for the rest of a path: `/models/{provider}/{name+}` becomes `/models/*rest`. */
const REST = 'rest';

/** The paths of a table's rows, fixed paths first: if two paths match, the earlier one is used. */
export function pathsOf<Target extends { route: Route }>(rows: readonly Target[]): TablePath<Target>[] {
  const byPath = new Map<string, Map<Route['method'], Target>>();
  for (const row of rows) {
    const targets = byPath.get(row.route.path) ?? new Map<Route['method'], Target>();
    byPath.set(row.route.path, targets.set(row.route.method, row));
  }
  const paths = [...byPath].map(([path, targets]) => ({
    path,
    pattern: patternOf(path),
    targets,
    allow: allowed([...targets.keys()]),
  }));
  const isFixed = ({ path }: { path: string }): boolean => !path.includes('{');
  return [...paths.filter(isFixed), ...paths.filter((path) => !isFixed(path))];
}

/** HEAD is answered like GET. */
function allowed(methods: string[]): string {
  return (methods.includes('GET') ? [...methods, 'HEAD'] : methods).sort().join(', ');
}

function patternOf(path: string): string {
  const segments = path.split('/');
  if (!path.endsWith('+}')) return segments.map(asParameter).join('/');
  return [...segments.slice(0, segments.findIndex(isParameter)), `*${REST}`].join('/');
}

function asParameter(segment: string): string {
  return isParameter(segment) ? `:${nameOf(segment)}` : segment;
}

/** The values of a row's parameters. The rest of a path is one value, even if its slashes are encoded; the last parameter may be absent. */
export function segmentsOf(path: string, values: PathValues): Record<string, string> {
  const rest = values[REST];
  if (!Array.isArray(rest)) return values as Record<string, string>;
  const parts = rest.join('/').split('/');
  const names = path.split('/').filter(isParameter).map(nameOf);
  return Object.fromEntries(
    names.map((name, at) => [name, at === names.length - 1 ? parts.slice(at).join('/') : (parts[at] ?? '')]),
  );
}

/** Whether an unchanged request path belongs to the table; for paths that no router has matched. */
export function isKnown(paths: readonly TablePath<unknown>[], sent: string): boolean {
  const parts = sent.split('/');
  return paths.some(({ path }) => {
    const segments = path.split('/');
    const isOpen = path.endsWith('+}');
    const fixed = isOpen ? segments.slice(0, segments.findIndex(isParameter)) : segments;
    const isLongEnough = isOpen ? parts.length > fixed.length : parts.length === fixed.length;
    return (
      isLongEnough &&
      fixed.every((segment, at) => (isParameter(segment) ? parts[at] !== '' : segment === parts[at]))
    );
  });
}
