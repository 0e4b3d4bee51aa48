/** Builds `dist/` when a source changed; true when a build ran. */
export function build(): Promise<boolean>;
/** Bundles TypeScript entries (paths from the repository's root) flat into a folder. */
export function bundle(entries: string[], folder: string): Promise<void>;
