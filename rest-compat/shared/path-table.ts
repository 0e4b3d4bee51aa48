import type { Route } from './route.types.js';

/** A path that the table knows: what its methods lead to. */
interface PathEntry<Target> {
  segments: string[];
  targets: Map<Route['method'], Target>;
}

export interface Match<Target> {
  target: Target;
  /** Decoded. */
  segments: Record<string, string>;
}

/** `unknown`: no such path; `method`: the path has other methods. */
export type Matched<Target> = Match<Target> | { allow: string } | null;

const isParameter = (segment: string): boolean => segment.startsWith('{');
const isRest = (segment: string): boolean => segment.endsWith('+}');
const nameOf = (segment: string): string => segment.replace(/^\{|\+?\}$/g, '');

export interface PathTable<Target> {
  add(method: Route['method'], path: string, target: Target): void;
  /** @param path below /api/v1, as sent (percent-encoded) */
  match(method: string, path: string): Matched<Target>;
}

export function createPathTable<Target>(): PathTable<Target> {
  const byPath = new Map<string, PathEntry<Target>>();

  return {
    add(method, path, target) {
      const entry = byPath.get(path) ?? { segments: path.slice(1).split('/'), targets: new Map() };
      byPath.set(path, entry);
      entry.targets.set(method, target);
    },
    match(method, path) {
      const exact = path.includes('{') ? undefined : byPath.get(path);
      if (exact) return choose(exact, method, {});
      const parts = path.slice(1).split('/');
      for (const entry of byPath.values()) {
        const segments = matchSegments(entry.segments, parts);
        if (segments) return choose(entry, method, segments);
      }
      return null;
    },
  };
}

function choose<Target>(
  entry: PathEntry<Target>,
  method: string,
  segments: Record<string, string>,
): Matched<Target> {
  const target = entry.targets.get(method as Route['method']);
  if (target !== undefined) return { target, segments };
  const methods: string[] = [...entry.targets.keys()];
  // Answered as GET is.
  if (entry.targets.has('GET')) methods.push('HEAD');
  return { allow: methods.sort().join(', ') };
}

function matchSegments(pattern: string[], parts: string[]): Record<string, string> | null {
  const last = pattern.at(-1) ?? '';
  if (isRest(last)) return matchRest(pattern, parts);
  if (pattern.length !== parts.length) return null;
  const found: Record<string, string> = {};
  for (const [index, segment] of pattern.entries()) {
    const part = parts[index] ?? '';
    if (!isParameter(segment)) {
      if (segment !== part) return null;
      continue;
    }
    const value = decode(part);
    if (value === null || value === '') return null;
    found[nameOf(segment)] = value;
  }
  return found;
}

/** `/models/{provider}/{name+}`: the rest of the path after its fixed part, however its slashes are encoded; the name may be missing. */
function matchRest(pattern: string[], parts: string[]): Record<string, string> | null {
  const fixed = pattern.findIndex(isParameter);
  for (let index = 0; index < fixed; index++) if (pattern[index] !== parts[index]) return null;
  const value = decode(parts.slice(fixed).join('/'));
  if (value === null || value === '') return null;
  const values = value.split('/');
  const names = pattern.slice(fixed).map(nameOf);
  const found: Record<string, string> = {};
  for (const [index, name] of names.entries())
    found[name] = index === names.length - 1 ? values.slice(index).join('/') : (values[index] ?? '');
  return found;
}

function decode(text: string): string | null {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
