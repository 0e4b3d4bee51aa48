export function dumpSchema(
  client: { query(sql: string): Promise<{ rows: { text: string }[] }> },
  options?: { sortColumns?: boolean },
): Promise<string>;
