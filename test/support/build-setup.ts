import { build } from '../../scripts/build.mjs';

/** Builds `dist/` once for the whole run: worker threads, child processes and spawned servers run from there. */
export async function setup(): Promise<void> {
  await build();
}
