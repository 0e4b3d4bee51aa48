import { parse } from 'csv-parse/sync';
import { inUtf8 } from './text-encoding.js';

const DELIMITERS = [',', ';', '\t', '|'];
/** Characters of a table that are examined to find its delimiter. */
const HEAD = 10_000;
/** Rows that would be longer than that together, with the names of their columns, have the names in front of some only. */
const MAX_NAMED = 20 * 1024 * 1024;
/** How much of such rows stands between their names: a passage or less, and ten times the names. */
const LEAST_BETWEEN = 500;
const TIMES_BETWEEN = 10;
/** Characters of one output piece. */
const PIECE = 65_536;

/** Finds the delimiter: the one that occurs most often between the column names. A decimal comma, or a tab in a sentence, is not one. */
function delimiterOf(text: string): string {
  // bounded: of a table only its head is looked at.
  const [names = ''] = text
    .replace(/"(?:[^"]|"")*"/g, '')
    .replace(/^[\r\n]+/, '')
    .split(/[\r\n]/, 1);
  const count = (mark: string): number => names.split(mark).length;
  return DELIMITERS.reduce((best, mark) => (count(mark) > count(best) ? mark : best));
}

function linesOf(bytes: Buffer): number {
  let feeds = 1;
  let returns = 1;
  for (const byte of bytes) {
    if (byte === 0x0a) feeds += 1;
    else if (byte === 0x0d) returns += 1;
  }
  return Math.max(feeds, returns);
}

/**
 * Each row with its column names, so that a passage makes sense without the head of the table. Where that would make a long text of a file
 * that is none, the names are a line of their own before every few rows. In pieces: a table's text is long, its rows are not kept besides.
 */
export function tableText(given: Buffer): string[] {
  const bytes = inUtf8(given);
  const table = new TableText(bytes);
  parse(bytes, {
    bom: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    delimiter: delimiterOf(bytes.toString('utf8', 0, HEAD)),
    max_record_size: 1_000_000,
    on_record: (row: string[]) => {
      table.take(row);
      return null;
    },
  });
  return table.end();
}

class TableText {
  private readonly pieces: string[] = [];
  private lines: string[] = [];
  private length = 0;
  private columns: string[] | null = null;
  private isNamed = true;
  private sinceNames = Infinity;

  constructor(private readonly bytes: Buffer) {}

  take(row: string[]): void {
    if (this.columns === null) this.begin(row);
    else if (this.isNamed) this.write(row.map((cell, at) => this.withName(cell, at)).join('; '));
    else this.writeBare(row);
  }

  end(): string[] {
    this.join();
    if (this.pieces.length === 0 && this.columns !== null) return [this.columns.join(', ')];
    return this.pieces;
  }

  private begin(columns: string[]): void {
    this.columns = columns;
    const names = columns.reduce((sum, { length }) => sum + length + 3, 0);
    this.isNamed = this.bytes.length + linesOf(this.bytes) * names <= MAX_NAMED;
  }

  private withName(cell: string, at: number): string {
    const name = this.columns?.[at];
    return name ? `${name}: ${cell}` : cell;
  }

  private writeBare(row: string[]): void {
    const names = this.columns?.join(', ') ?? '';
    if (this.sinceNames >= Math.max(LEAST_BETWEEN, TIMES_BETWEEN * names.length)) {
      this.write(names);
      this.sinceNames = 0;
    }
    const line = row.join('; ');
    this.sinceNames += line.length;
    this.write(line);
  }

  private write(line: string): void {
    this.lines.push(line, '\n');
    this.length += line.length;
    if (this.length >= PIECE) this.join();
  }

  /** Strings that were added to each other would be kept as they are, each cell of its own. */
  private join(): void {
    if (this.lines.length > 0) this.pieces.push(this.lines.join(''));
    this.lines = [];
    this.length = 0;
  }
}
