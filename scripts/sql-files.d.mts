/** Makes SQL files modules; for rolldown and for vite. */
export const sqlModules: {
  name: string;
  load(id: string): Promise<{ code: string; map: null; moduleType: 'js' } | null>;
};
/** The paths that a migration names, in their order. */
export function includesOf(text: string): string[];
/** Every SQL file below a folder, by its path from there, sorted. */
export function listSql(folder: string): Promise<string[]>;
