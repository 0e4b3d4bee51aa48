/** A migration's whole text; `scripts/sql-files.mjs` makes the module. */
declare module '*.sql' {
  export const sql: string;
}
