/** Whether a file holds a statement outside of its comments. */
export function holdsSql(text: string): boolean;
/** The files and folders of the ADR's table. */
export function placesOf(adr: string): string[];
/** SQL where none may be, queries files without a reason, and reasons without SQL. */
export function faultsOf(
  sources: readonly { file: string; text: string }[],
  places: readonly string[],
): string[];
/** Every breach of ADR 12. */
export function checkRawSql(): Promise<string[]>;
