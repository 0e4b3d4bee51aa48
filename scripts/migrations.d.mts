/** Released text that changed; text that no migration brings. */
export function checkMigrations(folder?: string): Promise<{ faults: string[] }>;
/** Puts the released text of files that were changed since into `replaced/`. */
export function keepReleased(folder?: string): Promise<void>;
/** From now on every migration is released: its text never changes again. */
export function release(folder?: string): Promise<void>;
