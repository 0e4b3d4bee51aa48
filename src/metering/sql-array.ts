const PLAIN = /^(?!null$)[\w./:-]+$/i;

/** An element of a `text[]` literal. */
export function text(value: string | null | undefined): string {
  if (value === null || value === undefined) return 'NULL';
  return PLAIN.test(value) ? value : `"${value.replaceAll(/["\\]/g, '\\$&')}"`;
}

/** An array literal: the elements of each row, row after row. */
export function array<Row>(rows: readonly Row[], elements: (row: Row) => string): string {
  let literal = '';
  for (const row of rows) literal += literal === '' ? elements(row) : `,${elements(row)}`;
  return `{${literal}}`;
}
