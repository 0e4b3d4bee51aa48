/**
 * Rows as parameters of the hot statements. One list of columns describes a row: names, SQL types, and how to read each value. The parameters are
 * made from it, and a test compares it with the SQL types in `migrations/current/metering/*_types.sql`.
 */

/** One column of a row that is made from a `Source`. */
interface Column<Source> {
  /** As PostgreSQL's `format_type` spells it. */
  type: string;
  /** The value as an element of an array literal, quoted where it must be; null is no value. */
  literal(source: Source): string | null;
}

/** Columns by their SQL names, in the order of the SQL type. */
export type Columns<Source> = Record<string, Column<Source>>;

/** Text that needs no quotes in an array or row literal. (An unquoted null in an array means NULL.) */
const PLAIN = /^(?!null$)[\w./:-]+$/i;
const SPECIAL = /["\\]/g;

/** PostgreSQL refuses a text with NUL, and with it the whole batch: upstreams and callers may say anything. */
const quoted = (value: string): string =>
  `"${(value.includes('\0') ? value.replaceAll('\0', '') : value).replace(SPECIAL, String.raw`\$&`)}"`;

const column =
  (type: string) =>
  <Source>(valueOf: (source: Source) => string | null): Column<Source> => ({
    type,
    literal(source) {
      const value = valueOf(source);
      return value === null || PLAIN.test(value) ? value : quoted(value);
    },
  });

const numeric =
  (type: string) =>
  <Source>(valueOf: (source: Source) => number | bigint | null): Column<Source> => ({
    type,
    literal(source) {
      const value = valueOf(source);
      return value === null ? null : `${value}`;
    },
  });

export const text = column('text');
export const json = column('jsonb');
/** A value is an array literal, as are those of the lists of numbers. */
export const texts = column('text[]');
export const bigints = column('bigint[]');
export const integers = column('integer[]');
export const integer = numeric('integer');
export const bigint = numeric('bigint');
export const boolean = <Source>(valueOf: (source: Source) => boolean): Column<Source> => ({
  type: 'boolean',
  literal: (source) => (valueOf(source) ? 't' : 'f'),
});

/** An array literal of numbers. */
export const vector = (numbers: readonly number[]): string => `{${numbers.join()}}`;

/** An array literal of texts. */
export const textVector = (values: readonly string[]): string =>
  values.length === 0
    ? '{}'
    : `{${values.map((value) => (PLAIN.test(value) ? value : quoted(value))).join()}}`;

function array<Source>(sources: readonly Source[], element: (source: Source) => string): string {
  let elements = '';
  for (const source of sources) elements += elements === '' ? element(source) : `,${element(source)}`;
  return `{${elements}}`;
}

/** Rows of a composite type, as one parameter. */
export interface RowType<Source> {
  /** Of the type in SQL. */
  name: string;
  columns: Columns<Source>;
  /** An array of the type, as a literal. */
  rows(sources: readonly Source[]): string;
}

export function rowType<Source>(name: string, columns: Columns<Source>): RowType<Source> {
  const all = Object.values(columns);
  const row = (source: Source): string => {
    let fields = '';
    for (let i = 0; i < all.length; i++) {
      if (i > 0) fields += ',';
      fields += all[i]!.literal(source) ?? '';
    }
    return fields.includes('"') ? quoted(`(${fields})`) : `"(${fields})"`;
  };
  return { name, columns, rows: (sources) => array(sources, row) };
}
