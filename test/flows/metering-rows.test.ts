import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMISSION_TYPES } from '../../src/metering/admission.queries.js';
import { ENDINGS, eventRow } from '../../src/metering/settlement-rows.js';
import { integer, rowType, text, texts, textVector } from '../../src/metering/sql-rows.js';
import { cloneDatabase } from '../support/database.js';

let client: pg.Client;
let drop: () => Promise<void>;
beforeAll(async () => {
  const clone = await cloneDatabase();
  ({ drop } = clone);
  client = new pg.Client({ connectionString: clone.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await drop();
});

async function attributesOf(type: string): Promise<[name: string, type: string][]> {
  const { rows } = await client.query<{ name: string; type: string }>(
    `SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
     WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    [type],
  );
  return rows.map((row) => [row.name, row.type]);
}

describe('what the code sends to the hot statements is what SQL reads', () => {
  it.each([...ADMISSION_TYPES, ENDINGS])(
    '$name: the same columns, types and order',
    async ({ name, columns }) => {
      const sent = Object.entries(columns).map(([column, { type }]) => [column, type]);
      expect(await attributesOf(name)).toEqual(sent);
    },
  );

  it('settlement_event: the same names', async () => {
    const event = { orgId: 'org_1', type: 't', data: {}, traceparent: 'x' };
    const names = (await attributesOf('settlement_event')).map(([name]) => name);
    expect(Object.keys(eventRow(event, { unheard: true, at: 1 })).toSorted()).toEqual(names.toSorted());
  });
});

describe('texts arrive as they were', () => {
  const VALUES = [
    ...[
      '',
      ' ',
      'plain',
      'two words',
      'null',
      'NULL',
      'a,b',
      '(a)',
      // not in the schema: an attack on SQL arrays
      '{a}',
      '"',
      '""',
      '\\',
      '\\"',
      "'",
      '\n',
      '\t',
    ],
    ...['OpenAI/Python 1.2 (x; "y")', 'ünïcode 🚰', '\\N', '\u0001', ' padded ', 'a\\', 't', '{"a":"b\\"c"}'],
    null,
  ];
  interface Sample {
    value: string | null;
    nth: number;
  }
  const samples = VALUES.map((value, nth): Sample => ({ value, nth }));

  it('in rows of a composite type', async () => {
    await client.query('CREATE TYPE sample AS (nth int, value text, last text)');
    const type = rowType<Sample>('sample', {
      nth: integer(({ nth }) => nth),
      value: text(({ value }) => value),
      last: text(({ value }) => value),
    });
    const { rows } = await client.query('SELECT nth, value, last FROM unnest($1::sample[])', [
      type.rows(samples),
    ]);
    expect(rows).toEqual(samples.map(({ value, nth }) => ({ nth, value, last: value })));
  });

  it('in a list within a row', async () => {
    await client.query('CREATE TYPE listing AS (value text[], nth int)');
    const lists = rowType<string[]>('listing', {
      value: texts((values) => textVector(values)),
      nth: integer((values) => values.length),
    });
    const values = VALUES.filter((value) => value !== null);
    const { rows } = await client.query('SELECT value, nth FROM unnest($1::listing[])', [
      lists.rows([values, []]),
    ]);
    expect(rows).toEqual([
      { value: values, nth: values.length },
      { value: [], nth: 0 },
    ]);
  });

  it('without NUL, which PostgreSQL refuses', async () => {
    const { rows } = await client.query('SELECT value FROM unnest($1::listing[])', [
      rowType<string>('listing', {
        value: texts((value) => textVector([value])),
        nth: integer(() => 1),
      }).rows(['a\0b"']),
    ]);
    expect(rows).toEqual([{ value: ['ab"'] }]);
  });
});
