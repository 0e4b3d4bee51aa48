import type { Principal } from '../access/access.types.js';
import { toVector, tokenAmounts } from './amounts.js';
import { amountOf, matchingCounters } from './budgets/matching-counters.js';
import type { MatchingCounter } from './budgets/matching-counters.js';
import type {
  AdmissionRequest,
  Attribution,
  CostBound,
  OperationRequest,
  TokenPrice,
} from './metering.types.js';
import type { WindowRule } from './rates.js';

/** A request with the rules of the windows that it counts against. */
export interface AdmissionItem {
  request: AdmissionRequest;
  key: WindowRule | null;
  endpoint: WindowRule | null;
  /** A client token's own window. */
  own: WindowRule | null;
  /** The plan's allowance as SQL's array literal. */
  allowance: string;
  /** Null if it is unknown, or no budget in USD needs it. */
  cost: CostBound | null;
}

export interface Caller {
  principal: Principal;
  index: number;
}

export interface Org {
  id: string;
  version: number;
  allowance: string;
  /** The amounts that the whole batch reserves, in hundredths by bucket. */
  wanted: number[];
  index: number;
}

/** A window, of a key or a client token, and the slots that the batch takes in it. */
export interface WindowUse {
  caller: number;
  keyId: string;
  name: string;
  rule: WindowRule;
  wanted: number;
  index: number;
}

/** A budget's counter, and the amount that the batch reserves in it. */
export interface CounterUse extends MatchingCounter {
  org: Org;
  /** The counted quantity: 0 is the operation's cost, other values are the number of a bucket. */
  amount: number;
  /** Nano-dollars, or hundredths of the bucket's unit. */
  wanted: bigint;
  index: number;
}

/** The data that is equal for requests which differ only in ids and tokens. */
export interface Profile {
  caller: Caller;
  key: WindowUse | null;
  endpoint: WindowUse | null;
  own: WindowUse | null;
  org: Org | null;
  operation: OperationRequest | undefined;
  client: AdmissionRequest['client'];
  attribution: Attribution | undefined;
  /** Null if no budget counts them. */
  counters: CounterUse[] | null;
  index: number;
}

export interface Row {
  item: AdmissionItem;
  profile: Profile;
  /** Hundredths, of a token price. */
  credits: number;
  tokens: number;
  /** Null if no budget in USD counts it. */
  cost: CostBound | null;
}

export interface AdmissionBatch {
  rows: Row[];
  callers: Caller[];
  profiles: Profile[];
  /** Sorted by key and name, the order in which every process locks windows. */
  windows: WindowUse[];
  /** Sorted by id, the order in which every process locks balances. */
  orgs: Org[];
  /** Sorted by budget and subject. */
  counters: CounterUse[];
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export function isTokenPrice(price: object): price is TokenPrice {
  return 'promptTokens' in price;
}

/** A map key that is unique for each attribution, although an end user's name may contain any characters. */
const nameOf = (attribution: Attribution | undefined): string =>
  attribution === undefined || (attribution.endUser === null && attribution.tags.length === 0)
    ? ''
    : JSON.stringify([attribution.endUser, attribution.tags]);

/** Collects the callers, windows, organisations and profiles of a batch, each once. */
class Gathering {
  readonly callers = new Map<Principal, Caller>();
  readonly windows = new Map<string, WindowUse>();
  readonly orgs = new Map<string, Org>();
  readonly profiles = new Map<string, Profile>();
  readonly counters = new Map<string, CounterUse>();

  row(item: AdmissionItem): Row {
    const { operation } = item.request;
    const profile = this.profile(item);
    if (profile.key !== null) profile.key.wanted += 1;
    if (profile.endpoint !== null) profile.endpoint.wanted += 1;
    if (profile.own !== null) profile.own.wanted += 1;
    const row: Row = { item, profile, credits: 0, tokens: 0, cost: null };
    if (operation === undefined || profile.org === null) return row;
    const { price } = operation;
    const { wanted } = profile.org;
    if (isTokenPrice(price)) {
      const amounts = tokenAmounts(price.promptTokens + price.maxTokens, price.multiplier);
      row.credits = amounts.credits ?? 0;
      row.tokens = amounts.chat_tokens ?? 0;
      wanted[0] = (wanted[0] ?? 0) + row.credits;
      wanted[1] = (wanted[1] ?? 0) + row.tokens;
    } else {
      for (const [i, amount] of toVector(price).entries()) wanted[i] = (wanted[i] ?? 0) + amount;
    }
    if (profile.counters !== null) reserveIn(profile.counters, row, operation);
    return row;
  }

  private profile(item: AdmissionItem): Profile {
    const { principal, operation, client, endpoint, keyWindow, attribution } = item.request;
    const caller = this.caller(principal);
    const price = operation?.price ?? {};
    const kind = isTokenPrice(price) ? `x${price.multiplier}` : JSON.stringify(price);
    const id = `${caller.index} ${keyWindow} ${endpoint} ${operation?.kind} ${operation?.model} ${kind}\n${client.serviceClient}\n${client.clientName}\n${client.userAgent}\n${nameOf(attribution)}`;
    let profile = this.profiles.get(id);
    if (profile === undefined) {
      const org = operation === undefined ? null : this.org(item);
      profile = {
        caller,
        key: this.window(caller, { keyId: principal.keyId, name: 'key', rule: item.key }),
        endpoint: this.window(caller, { keyId: principal.keyId, name: endpoint ?? '', rule: item.endpoint }),
        own: this.window(caller, { keyId: principal.token?.id ?? '', name: 'key', rule: item.own }),
        org,
        operation,
        client,
        attribution,
        counters: org === null ? null : this.countersOf(item.request, org),
        index: this.profiles.size + 1,
      };
      this.profiles.set(id, profile);
    }
    return profile;
  }

  private caller(principal: Principal): Caller {
    let caller = this.callers.get(principal);
    if (caller === undefined)
      this.callers.set(principal, (caller = { principal, index: this.callers.size + 1 }));
    return caller;
  }

  private window(
    caller: Caller,
    { keyId, name, rule }: Pick<WindowUse, 'keyId' | 'name'> & { rule: WindowRule | null },
  ): WindowUse | null {
    if (rule === null) return null;
    const id = `${keyId} ${name}`;
    let use = this.windows.get(id);
    if (use === undefined) {
      use = { caller: caller.index, keyId, name, rule, wanted: 0, index: 0 };
      this.windows.set(id, use);
    }
    return use;
  }

  private countersOf(request: AdmissionRequest, org: Org): CounterUse[] | null {
    if (request.principal.budgets === undefined) return null;
    // An outdated copy of the organisation has separate counters, in which nothing is reserved.
    const counters = matchingCounters(request).map((concerned) => {
      const id = `${request.principal.orgVersion} ${concerned.rule.id} ${concerned.subject}`;
      let use = this.counters.get(id);
      if (use === undefined)
        this.counters.set(
          id,
          (use = { ...concerned, org, amount: amountOf(concerned.rule), wanted: 0n, index: 0 }),
        );
      return use;
    });
    return counters.length === 0 ? null : counters;
  }

  private org(item: AdmissionItem): Org {
    const { orgId: id, orgVersion: version } = item.request.principal;
    const { allowance } = item;
    let org = this.orgs.get(id);
    if (org === undefined)
      this.orgs.set(id, (org = { id, version, allowance, wanted: toVector({}), index: 0 }));
    if (version > org.version) Object.assign(org, { version, allowance });
    return org;
  }
}

/** Adds the maximum of an operation to its counters. */
function reserveIn(counters: readonly CounterUse[], row: Row, { price }: OperationRequest): void {
  const vector = isTokenPrice(price) ? null : toVector(price);
  for (const use of counters) {
    const { amount } = use;
    if (amount === 0) use.wanted += (row.cost ??= row.item.cost ?? FREE).whole;
    else if (vector !== null) use.wanted += BigInt(vector[amount - 1] ?? 0);
    else use.wanted += BigInt(amount === 1 ? row.credits : row.tokens);
  }
}

const FREE: CostBound = { whole: 0n, prompt: 0n };

export function gather(items: AdmissionItem[]): AdmissionBatch {
  const gathering = new Gathering();
  const rows = items.map((item) => gathering.row(item));
  const windows = [...gathering.windows.values()];
  const orgs = [...gathering.orgs.values()];
  windows.sort((a, b) => order(a.keyId, b.keyId) || order(a.name, b.name));
  orgs.sort((a, b) => order(a.id, b.id));
  const counters = [...gathering.counters.values()];
  counters.sort((a, b) => order(a.rule.id, b.rule.id) || order(a.subject, b.subject));
  for (let i = 0; i < windows.length; i++) (windows[i] as WindowUse).index = i + 1;
  for (let i = 0; i < orgs.length; i++) (orgs[i] as Org).index = i + 1;
  for (let i = 0; i < counters.length; i++) (counters[i] as CounterUse).index = i + 1;
  return {
    rows,
    callers: [...gathering.callers.values()],
    profiles: [...gathering.profiles.values()],
    windows,
    orgs,
    counters,
  };
}
