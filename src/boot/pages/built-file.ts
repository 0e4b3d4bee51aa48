import { fileURLToPath } from 'node:url';

/** A file that the build made for browsers. Beside the bundled server, or in the repository's `dist/` where sources are run. */
export function builtFile(name: string): string {
  const folder = import.meta.url.endsWith('.ts') ? '../../../dist/' : './';
  return fileURLToPath(new URL(folder + name, import.meta.url));
}
