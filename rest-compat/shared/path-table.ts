import type { Route } from './route.types.js';

/** What a router hands over of a path: a value, or the values between slashes of a path's rest. Decoded. */
export type PathValues = Readonly<Record<string, string | string[]>>;

/** A path that the table knows, with what its methods lead to. */
export interface TablePath<Target> {
  /** As rows write it: `/jobs/{jobId}`. */
  path: string;
  /** As Express reads it: `/jobs/:jobId`. */
  pattern: string;
  targets: ReadonlyMap<Route['method'], Target>;
  /** Its methods, as the header `Allow` lists them. */
  allow: string;
}

const isParameter = (segment: string): boolean => segment.startsWith('{');
const nameOf = (segment: string): string => segment.replace(/^\{|\+?\}$/g, '');
/** The name of what follows a path's fixed part: `/models/{provider}/{name+}` is `/models/*rest`. */
const REST = 'rest';

/** The paths of a table's rows, fixed ones first: of two that match, the earlier one is meant. */
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

/** HEAD is answered as GET is. */
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

/** The values of a row's parameters. The rest of a path is one, however its slashes are encoded; the last of its names may be missing. */
export function segmentsOf(path: string, values: PathValues): Record<string, string> {
  const rest = values[REST];
  if (!Array.isArray(rest)) return values as Record<string, string>;
  const parts = rest.join('/').split('/');
  const names = path.split('/').filter(isParameter).map(nameOf);
  return Object.fromEntries(
    names.map((name, at) => [name, at === names.length - 1 ? parts.slice(at).join('/') : (parts[at] ?? '')]),
  );
}

/** Whether a path, as sent, is one of the table's: for paths that no router was asked for. */
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
