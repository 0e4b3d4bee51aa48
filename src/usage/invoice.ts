import { CsvError, parse } from 'csv-parse/sync';
import { ApiError } from '../contract/errors.js';
import type { Sql } from '../database/index.js';
import { scaledDecimal, usdOf } from '../pricing/index.js';
import { ANSWERS, UNNAMED } from './reconcile.queries.js';
import type { Difference } from './reconcile.js';

const COLUMNS = [
  'request_id',
  'model',
  'input_tokens',
  'cached_tokens',
  'output_tokens',
  'cost_usd',
] as const;
type Column = (typeof COLUMNS)[number];

/** What an invoice says of one answer; lines of one id are added up. */
interface Invoiced {
  model: string;
  tokens: [input: number, cached: number, output: number];
  /** A thousandth of a nano-dollar is the finest that an invoice says. */
  pico: bigint;
}

interface Answer {
  upstream_id: string;
  model: string | null;
  tokens: number[] | null;
  cost_nano: string | null;
  created_at: Date;
}

/** USD with at most this number of decimals. */
const PLACES = 12;
const PICO = 1000n;

const unreadable = (text: string): ApiError =>
  new ApiError('invalid_request', `The invoice cannot be read: ${text}`);

const fault = (line: number, text: string): ApiError => unreadable(`line ${line}: ${text}`);

interface Line {
  record: string[];
  /** `lines`: the number of the line that it ends in. */
  info: { lines: number };
}

/** @throws ApiError */
function linesOf(file: Uint8Array): Line[] {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(file);
    const options = { info: true, skip_empty_lines: true, trim: true, relax_column_count: true } as const;
    return parse(text, options) as unknown as Line[];
  } catch (error) {
    if (error instanceof CsvError) throw unreadable(error.message);
    throw error instanceof TypeError ? unreadable('it is not UTF-8') : error;
  }
}

/** @throws ApiError with the line of the fault */
export function readInvoice(file: Uint8Array): Map<string, Invoiced> {
  const [first, ...lines] = linesOf(file);
  const head = first?.record;
  const missing = COLUMNS.find((name) => head?.includes(name) !== true);
  if (missing !== undefined) throw fault(1, `there is no column ${missing}`);
  const at = Object.fromEntries(COLUMNS.map((name) => [name, head!.indexOf(name)])) as Record<Column, number>;
  const invoice = new Map<string, Invoiced>();
  for (const { record: cells, info } of lines) {
    const cell = (name: Column): string => cells[at[name]] ?? '';
    const count = (name: Column): number => {
      if (!/^\d{0,15}$/.test(cell(name))) throw fault(info.lines, `${name} is not a whole number`);
      return Number(cell(name));
    };
    const id = cell('request_id');
    if (id === '') throw fault(info.lines, 'request_id is empty');
    const pico = scaledDecimal(cell('cost_usd'), PLACES);
    if (pico === null) throw fault(info.lines, `cost_usd is not an amount with at most ${PLACES} decimals`);
    const [input, cached, output] = invoice.get(id)?.tokens ?? [0, 0, 0];
    invoice.set(id, {
      model: cell('model'),
      tokens: [
        input + count('input_tokens'),
        cached + count('cached_tokens'),
        output + count('output_tokens'),
      ],
      pico: (invoice.get(id)?.pico ?? 0n) + pico,
    });
  }
  return invoice;
}

/** An upstream's name of a model is ours without the provider. */
const isModel = (ours: string | null, theirs: string): boolean =>
  ours === theirs || ours?.endsWith(`/${theirs}`) === true;

function compareAnswer(id: string, invoiced: Invoiced, answer: Answer): Difference[] {
  const differences: Difference[] = [];
  const add = (what: string, invoice: string | number, ledger: string | number | null): void =>
    void differences.push({ what: `invoice ${what}`, of: id, expected: ledger, found: invoice });
  if (!isModel(answer.model, invoiced.model)) add('model', invoiced.model, answer.model);
  const [input = 0, cached = 0, , output = 0] = answer.tokens ?? [];
  for (const [name, theirs, ours] of [
    ['input_tokens', invoiced.tokens[0], input],
    ['cached_tokens', invoiced.tokens[1], cached],
    ['output_tokens', invoiced.tokens[2], output],
  ] as const)
    if (theirs !== ours) add(name, theirs, ours);
  const nano = (invoiced.pico + PICO / 2n) / PICO;
  if (answer.cost_nano === null || BigInt(answer.cost_nano) !== nano)
    add('cost_usd', usdOf(nano), answer.cost_nano === null ? null : usdOf(BigInt(answer.cost_nano)));
  return differences;
}

/** The lines of a record's attempts and rounds as one, under the record's ids; its model is that of the last. */
function joinLines(invoice: Map<string, Invoiced>, { upstream_id: id }: Answer): void {
  const ids = id.split(' ');
  const lines = ids.flatMap((one) => invoice.get(one) ?? []);
  const last = lines.at(-1);
  if (ids.length === 1 || last === undefined) return;
  for (const one of ids) invoice.delete(one);
  const sum = (at: 0 | 1 | 2): number => lines.reduce((all, { tokens }) => all + tokens[at], 0);
  const pico = lines.reduce((all, line) => all + line.pico, 0n);
  invoice.set(id, { model: last.model, tokens: [sum(0), sum(1), sum(2)], pico });
}

/** Each answer of an invoice beside the ledger's, and what either has alone. */
export async function compareInvoice(sql: Sql, orgId: string, file: Uint8Array): Promise<Difference[]> {
  const invoice = readInvoice(file);
  const named = [...invoice.keys()];
  const known = await sql.query<Answer>(ANSWERS, [orgId, named]);
  for (const answer of known) joinLines(invoice, answer);
  const answers = new Map(known.map((answer) => [answer.upstream_id, answer]));
  const ids = [...invoice.keys()];
  const differences = ids.flatMap((id) => {
    const [invoiced, answer] = [invoice.get(id)!, answers.get(id)];
    if (answer !== undefined) return compareAnswer(id, invoiced, answer);
    return [
      {
        what: 'invoice names what the ledger does not know',
        of: id,
        expected: null,
        found: usdOf((invoiced.pico + PICO / 2n) / PICO),
      },
    ];
  });
  const found = [...answers.values()];
  if (found.length === 0) return differences;
  const times = found.map(({ created_at: at }) => at.getTime());
  const [from, until] = times.reduce(
    ([low, high], time) => [Math.min(low, time), Math.max(high, time)],
    [Infinity, -Infinity],
  );
  const models = [...new Set(found.flatMap(({ model }) => model ?? []))];
  const unnamed = await sql.query<{ upstream_id: string; cost_nano: string }>(UNNAMED, [
    orgId,
    named,
    models,
    new Date(from!),
    new Date(until!),
  ]);
  return [
    ...differences,
    ...unnamed.map(({ upstream_id: of, cost_nano: nano }) => ({
      what: 'invoice does not name what the ledger knows',
      of,
      expected: usdOf(BigInt(nano)),
      found: null,
    })),
  ];
}
