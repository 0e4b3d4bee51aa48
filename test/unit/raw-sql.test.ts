import { expect, test } from 'vitest';
import { checkRawSql, faultsOf, holdsSql, placesOf } from '../../scripts/check-raw-sql.mjs';

const STATEMENTS = [
  'SELECT 1',
  'select id from webhooks',
  'INSERT INTO webhooks (id) VALUES ($1)',
  'UPDATE webhooks SET name = $1',
  'UPDATE webhooks w SET name = $1',
  'DELETE FROM webhooks',
  'WITH gone AS (DELETE FROM webhooks RETURNING id) SELECT id FROM gone',
  'WITH RECURSIVE waiting (id) AS (SELECT 1) SELECT id FROM waiting',
  'LISTEN penstock_job',
];

test.each(STATEMENTS)('%s is found in every kind of quotes, and not in a comment', (sql) => {
  for (const quote of ["'", '"', '`']) {
    expect(holdsSql(`await system.query(${quote}${sql}${quote})`)).toBe(true);
    expect(holdsSql(`const TEXT = ${quote}\n  ${sql}${quote};`)).toBe(true);
    expect(holdsSql(`// ${quote}${sql}${quote}\nconst n = 1;`)).toBe(false);
    expect(holdsSql(`/** ${quote}${sql}${quote} */`)).toBe(false);
  }
});

test('sentences and names that only sound like SQL are none', () => {
  for (const text of [
    'selected',
    'Update failed',
    'update_agent',
    'with a key',
    'With it as',
    'delete',
    'Delete files from it',
  ])
    expect(holdsSql(`const text = '${text}';`)).toBe(false);
});

test('SQL stands in queries files that ADR 12 gives a reason for, and in src/database', () => {
  const text = `sql.query('SELECT 1')`;
  const source = (file: string) => ({ file, text });
  const adr = '| `src/jobs/moves/` | moves |\n| `src/cli/doctor.queries.ts` | asks |\n';
  const places = placesOf(adr);
  expect(places).toEqual(['src/jobs/moves/', 'src/cli/doctor.queries.ts']);
  const allowed = ['src/jobs/moves/end.queries.ts', 'src/database/pool.ts', 'src/cli/doctor.queries.ts'];
  expect(faultsOf(allowed.map(source), places)).toEqual([]);
  const faults = faultsOf(
    [...allowed, 'src/jobs/moves/end.ts', 'src/cli/doctor.ts', 'src/a/b.queries.ts'].map(source),
    places,
  );
  expect(faults).toEqual([
    expect.stringContaining('src/jobs/moves/end.ts: SQL goes into'),
    expect.stringContaining('src/cli/doctor.ts: SQL goes into'),
    expect.stringContaining('src/a/b.queries.ts: '),
  ]);
});

test('a row of the list whose queries file is gone is a fault', () => {
  const sources = [{ file: 'src/cli/doctor.ts', text: 'const n = 1;' }];
  expect(faultsOf(sources, ['src/cli/doctor.queries.ts'])).toEqual([
    expect.stringContaining('src/cli/doctor.queries.ts holds no SQL'),
  ]);
});

test('the sources keep to it', async () => {
  expect(await checkRawSql()).toEqual([]);
});
