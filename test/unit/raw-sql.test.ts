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

test('SQL stands in queries files, in src/database and in the places that ADR 12 lists', () => {
  const text = `sql.query('SELECT 1')`;
  const source = (file: string) => ({ file, text });
  const adr = '| `src/jobs/moves/` | moves |\n| `src/cli/doctor.ts` | asks |\n';
  const places = placesOf(adr);
  expect(places).toEqual(['src/jobs/moves/', 'src/cli/doctor.ts']);
  const allowed = [
    'src/a/b.queries.ts',
    'src/database/pool.ts',
    'src/jobs/moves/end.ts',
    'src/cli/doctor.ts',
  ];
  expect(faultsOf(allowed.map(source), places)).toEqual([]);
  const faults = faultsOf([...allowed, 'src/jobs/moves.ts', 'src/cli/doctor.tsx'].map(source), places);
  expect(faults).toHaveLength(2);
  expect(faults[0]).toContain('src/jobs/moves.ts: ');
});

test('a place of the list that holds no SQL is a fault', () => {
  const sources = [{ file: 'src/cli/doctor.ts', text: 'const n = 1;' }];
  expect(faultsOf(sources, ['src/cli/doctor.ts'])).toEqual([
    expect.stringContaining('src/cli/doctor.ts holds no SQL'),
  ]);
});

test('the sources keep to it', async () => {
  expect(await checkRawSql()).toEqual([]);
});
