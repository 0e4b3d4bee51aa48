/** The output of the benchmark. */

export interface Verdict {
  what: string;
  value: number;
  bound: number;
  /** Most figures must not exceed their bound; some must reach it. */
  direction: 'at most' | 'at least';
  met: boolean;
}

export function verdict(
  what: string,
  value: number,
  bound: number,
  direction: Verdict['direction'] = 'at most',
): Verdict {
  return { what, value, bound, direction, met: direction === 'at most' ? value <= bound : value >= bound };
}

/** A table in plain text, numbers aligned right. */
export function table(title: string, head: string[], rows: string[][]): void {
  const widths = head.map((cell, column) =>
    Math.max(cell.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (cells: string[]): string =>
    cells
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ');
  console.log(`\n${title}\n${[head, ...rows].map((row) => `  ${line(row)}`).join('\n')}`);
}

/** Every target with its figure. @returns whether all were met */
export function printVerdicts(verdicts: Verdict[]): boolean {
  const rows = verdicts.map(({ what, value, bound, direction, met }) => [
    what,
    value.toFixed(2),
    `${direction} ${bound.toFixed(2)}`,
    met ? 'met' : 'MISSED',
  ]);
  table('Targets', ['', 'figure', 'target', ''], rows);
  return verdicts.every(({ met }) => met);
}
