import { fileURLToPath } from 'node:url';

/** A file that the build made for browsers. It lies beside the bundled server, or in `dist/` when the server runs from its sources. */
export function builtFile(name: string): string {
  const folder = import.meta.url.endsWith('.ts') ? '../../../dist/' : './';
  return fileURLToPath(new URL(folder + name, import.meta.url));
}
