import type { Principal } from '../access/access.types.js';
import type { Bucket } from '../vocabulary.js';
import { BUCKETS } from '../vocabulary.js';
import { toVector } from './amounts.js';
import type { AdmissionRequest, RateState, TokenPrice } from './metering.types.js';
import type { WindowRule } from './rates.js';

/** A request with the rules of the windows that it counts against. */
export interface AdmissionItem {
  request: AdmissionRequest;
  key: WindowRule | null;
  endpoint: WindowRule | null;
  /** The plan's allowance as SQL's array literal. */
  allowance: string;
}

interface Caller {
  principal: Principal;
  org: Org | null;
  index: number;
}

interface Org {
  id: string;
  version: number;
  allowance: string;
  index: number;
}

export interface WindowUse {
  caller: number;
  keyId: string;
  name: string;
  rule: WindowRule;
  index: number;
}

/** What one request of the batch asks for, by position. */
interface Row {
  item: AdmissionItem;
  caller: Caller;
  key: WindowUse | null;
  endpoint: WindowUse | null;
}

export interface AdmissionBatch {
  rows: Row[];
  callers: Caller[];
  /** Sorted by key and name: the order in which every process locks them. */
  windows: WindowUse[];
  /** Sorted by id, for the same reason. */
  orgs: Org[];
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function useWindow(
  windows: Map<string, WindowUse>,
  caller: Caller,
  { name, rule }: { name: string; rule: WindowRule },
): WindowUse {
  const { keyId } = caller.principal;
  const id = `${keyId} ${name}`;
  let use = windows.get(id);
  if (use === undefined) windows.set(id, (use = { caller: caller.index, keyId, name, rule, index: 0 }));
  return use;
}

function useOrg(orgs: Map<string, Org>, item: AdmissionItem): Org {
  const { orgId: id, orgVersion: version } = item.request.principal;
  let org = orgs.get(id);
  if (org === undefined) orgs.set(id, (org = { id, version, allowance: item.allowance, index: 0 }));
  if (version > org.version) Object.assign(org, { version, allowance: item.allowance });
  return org;
}

/** Gathers the callers, windows and organisations of a batch, each once, in the order in which they are locked. */
export function gather(items: AdmissionItem[]): AdmissionBatch {
  const callers = new Map<Principal, Caller>();
  const windows = new Map<string, WindowUse>();
  const orgs = new Map<string, Org>();
  const rows = items.map((item): Row => {
    const { principal, operation, endpoint } = item.request;
    let caller = callers.get(principal);
    if (caller === undefined)
      callers.set(principal, (caller = { principal, org: null, index: callers.size + 1 }));
    if (operation !== undefined) caller.org = useOrg(orgs, item);
    return {
      item,
      caller,
      key: item.key === null ? null : useWindow(windows, caller, { name: 'key', rule: item.key }),
      endpoint:
        item.endpoint === null || endpoint === undefined
          ? null
          : useWindow(windows, caller, { name: endpoint, rule: item.endpoint }),
    };
  });
  const sortedWindows = [...windows.values()].sort(
    (a, b) => order(a.keyId, b.keyId) || order(a.name, b.name),
  );
  const sortedOrgs = [...orgs.values()].sort((a, b) => order(a.id, b.id));
  for (const [i, use] of sortedWindows.entries()) use.index = i + 1;
  for (const [i, org] of sortedOrgs.entries()) org.index = i + 1;
  return { rows, callers: [...callers.values()], windows: sortedWindows, orgs: sortedOrgs };
}

export function isTokenPrice(price: object): price is TokenPrice {
  return 'promptTokens' in price;
}

/** Prices in SQL's columns: q 0 no operation, 1 tokens, 2 fixed; fixed amounts as pairs in the price's own order. */
function priceColumns(rows: Row[]) {
  const columns = {
    q: [] as number[],
    tp: [] as number[],
    tm: [] as number[],
    mu: [] as number[],
    fx: [] as (string | null)[],
    ps: [] as number[],
    pc: [] as number[],
    pb: [] as number[],
    pa: [] as number[],
  };
  for (const { item } of rows) {
    const price = item.request.operation?.price;
    const tokens = price !== undefined && isTokenPrice(price) ? price : null;
    columns.q.push(price === undefined ? 0 : tokens === null ? 2 : 1);
    columns.tp.push(tokens?.promptTokens ?? 0);
    columns.tm.push(tokens?.maxTokens ?? 0);
    columns.mu.push(tokens?.multiplier ?? 0);
    columns.ps.push(columns.pb.length + 1);
    const before = columns.pb.length;
    const fixed = price === undefined || isTokenPrice(price) ? null : price;
    for (const bucket in fixed) {
      const amount = fixed[bucket as Bucket] ?? 0;
      if (amount === 0) continue;
      columns.pb.push(BUCKETS.indexOf(bucket as Bucket) + 1);
      columns.pa.push(amount);
    }
    columns.pc.push(columns.pb.length - before);
    columns.fx.push(fixed === null ? null : `{${toVector(fixed).join()}}`);
  }
  return columns;
}

function operationColumns(rows: Row[]) {
  const columns = {
    op: [] as (string | null)[],
    kind: [] as (string | null)[],
    model: [] as (string | null)[],
    req: [] as (string | null)[],
    job: [] as (string | null)[],
    run: [] as (string | null)[],
    sc: [] as (string | null)[],
    cn: [] as (string | null)[],
    ua: [] as (string | null)[],
  };
  for (const { item } of rows) {
    const { operation, requestId, client } = item.request;
    columns.op.push(operation?.id ?? null);
    columns.kind.push(operation?.kind ?? null);
    columns.model.push(operation?.model ?? null);
    columns.req.push(operation === undefined ? null : requestId);
    columns.job.push(operation?.jobId ?? null);
    columns.run.push(operation?.runId ?? null);
    columns.sc.push(operation === undefined ? null : client.serviceClient);
    columns.cn.push(operation === undefined ? null : client.clientName);
    columns.ua.push(operation === undefined ? null : client.userAgent);
  }
  return columns;
}

/** The parameter of `penstock_admit`: every list is a column, so that PostgreSQL makes arrays of them in one step. */
export function encode({ rows, callers, windows, orgs }: AdmissionBatch, holder: string): string {
  return JSON.stringify({
    holder,
    ck: callers.map(({ principal }) => principal.keyId),
    cu: callers.map(({ principal }) => principal.userId),
    cv: callers.map(({ principal }) => principal.orgVersion),
    ce: callers.map(({ principal }) => !principal.entitled),
    co: callers.map(({ org }) => org?.index ?? 0),
    wc: windows.map(({ caller }) => caller),
    wn: windows.map(({ name }) => name),
    wl: windows.map(({ rule }) => rule.limit),
    wd: windows.map(({ rule }) => rule.lengthUs),
    oi: orgs.map(({ id }) => id),
    ov: orgs.map(({ version }) => version),
    oa: orgs.map(({ allowance }) => allowance),
    k: rows.map(({ caller }) => caller.index),
    x: rows.map(({ key }) => key?.index ?? 0),
    y: rows.map(({ endpoint }) => endpoint?.index ?? 0),
    ...operationColumns(rows),
    ...priceColumns(rows),
  });
}

/** What `penstock_admit` answers; columns by request, `t` and `n` by window (microseconds). */
export interface AdmissionAnswer {
  c: number[];
  x: (number | null)[];
  y: (number | null)[];
  g: number[];
  e: number[];
  b: number[];
  m: number[];
  t: number[];
  n: number[];
  d: Record<string, number[]>;
}

/** Where a window stands after a request, and how long until it gains a slot. */
export function windowState(
  use: WindowUse | null,
  left: number | null | undefined,
  answer: AdmissionAnswer,
): (RateState & { waitSeconds: number }) | null {
  if (use === null) return null;
  const gainsAt = answer.t[use.index - 1] ?? 0;
  const now = answer.n[use.index - 1] ?? 0;
  return {
    limit: use.rule.limit,
    remaining: Math.max(0, left ?? 0),
    reset: Math.ceil(gainsAt / 1_000_000),
    waitSeconds: Math.max(1, Math.ceil((gainsAt - now) / 1_000_000)),
  };
}
