import { fileURLToPath } from 'node:url';

/**
 * The file of a child process or worker thread. It is beside the bundle; in tests, which run the sources, it is in the repository's build.
 *
 * @param name as in `dist/`, such as `audio.child.js`
 */
export function processEntry(name: string): string {
  const path = import.meta.url.endsWith('.ts') ? `../../dist/${name}` : `./${name}`;
  return fileURLToPath(new URL(path, import.meta.url));
}
