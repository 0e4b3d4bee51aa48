/** The parameters of `penstock_admit` (migrations/current/metering/admission_types.sql explains each column). */
import type { Amounts, Bucket } from '../contract/words.js';
import { BUCKETS } from '../contract/words.js';
import type { AdmissionBatch, Caller, CounterUse, Org, Profile, Row, WindowUse } from './admission-batch.js';
import { isTokenPrice } from './admission-batch.js';
import { toVector } from './amounts.js';
import {
  bigint,
  bigints,
  boolean,
  integer,
  integers,
  rowType,
  text,
  texts,
  textVector,
  vector,
} from './sql-rows.js';

const CALLERS = rowType<Caller>('admission_caller', {
  key_id: text(({ principal }) => principal.keyId),
  user_id: text(({ principal }) => principal.userId),
  version: bigint(({ principal }) => principal.orgVersion),
  ended: boolean(({ principal }) => !principal.entitled),
});

const WINDOWS = rowType<WindowUse>('admission_window', {
  key_id: text(({ keyId }) => keyId),
  name: text(({ name }) => name),
  caller: integer(({ caller }) => caller),
  grain: integer(({ rule }) => rule.grain),
  stamps: integer(({ rule }) => rule.stamps),
  length_us: bigint(({ rule }) => rule.lengthUs),
  wanted: integer(({ wanted }) => wanted),
});

const ORGS = rowType<Org>('admission_org', {
  id: text(({ id }) => id),
  version: bigint(({ version }) => version),
  allowance: bigints(({ allowance }) => allowance),
  wanted: bigints(({ wanted }) => vector(wanted)),
});

const COUNTERS = rowType<CounterUse>('admission_counter', {
  org: integer(({ org }) => org.index),
  budget: text(({ rule }) => rule.id),
  subject: text(({ subject }) => subject),
  period: text(({ rule }) => rule.period),
  amount: integer(({ amount }) => amount),
  cap: bigint(({ rule }) => (rule.hard ? rule.cap : null)),
  wanted: bigint(({ wanted }) => wanted),
});

const fixedPrice = ({ operation }: Profile): Amounts | null =>
  operation === undefined || isTokenPrice(operation.price) ? null : operation.price;

/** The numbers of the buckets of a fixed price, in the price's order. */
const bucketsOf = (price: Amounts): number[] =>
  Object.keys(price).map((bucket) => BUCKETS.indexOf(bucket as Bucket) + 1);

const PROFILES = rowType<Profile>('admission_profile', {
  caller: integer(({ caller }) => caller.index),
  key_window: integer(({ key }) => key?.index ?? 0),
  endpoint_window: integer(({ endpoint }) => endpoint?.index ?? 0),
  own_window: integer(({ own }) => own?.index ?? 0),
  org: integer(({ org }) => org?.index ?? 0),
  kind: text(({ operation }) => operation?.kind ?? null),
  model: text(({ operation }) => operation?.model ?? null),
  multiplier: bigint(({ operation }) =>
    operation !== undefined && isTokenPrice(operation.price) ? operation.price.multiplier : 0,
  ),
  fixed: bigints((profile) => {
    const price = fixedPrice(profile);
    return price && vector(toVector(price));
  }),
  buckets: integers((profile) => {
    const price = fixedPrice(profile);
    return price && vector(bucketsOf(price));
  }),
  service_client: text(({ client }) => client.serviceClient),
  client_name: text(({ client }) => client.clientName),
  user_agent: text(({ client }) => client.userAgent),
  end_user: text(({ attribution }) => attribution?.endUser ?? null),
  tags: texts(({ attribution }) => textVector(attribution?.tags ?? [])),
  counters: integers(({ counters }) => counters && vector(counters.map(({ index }) => index))),
});

const tokenPrice = ({ item }: Row) => {
  const price = item.request.operation?.price;
  return price !== undefined && isTokenPrice(price) ? price : undefined;
};

const REQUESTS = rowType<Row>('admission_request', {
  profile: integer(({ profile }) => profile.index),
  operation_id: text(({ item }) => item.request.operation?.id ?? null),
  request_id: text(({ item }) => item.request.requestId),
  job_id: text(({ item }) => item.request.operation?.jobId ?? null),
  run_id: text(({ item }) => item.request.operation?.runId ?? null),
  parent: text(({ item }) => item.request.operation?.parent ?? null),
  prompt: bigint((row) => tokenPrice(row)?.promptTokens ?? 0),
  max: bigint((row) => tokenPrice(row)?.maxTokens ?? 0),
  credits: bigint(({ credits }) => credits),
  tokens: bigint(({ tokens }) => tokens),
  nano: bigint(({ cost }) => cost && cost.whole),
  nano_prompt: bigint(({ cost }) => cost && cost.prompt),
});

/** Parameters by their names in SQL. */
const PARAMETERS: Record<string, (batch: AdmissionBatch, holder: string) => string> = {
  p_holder: (_, holder) => holder,
  p_callers: ({ callers }) => CALLERS.rows(callers),
  p_windows: ({ windows }) => WINDOWS.rows(windows),
  p_orgs: ({ orgs }) => ORGS.rows(orgs),
  p_counters: ({ counters }) => COUNTERS.rows(counters),
  p_profiles: ({ profiles }) => PROFILES.rows(profiles),
  p_requests: ({ rows }) => REQUESTS.rows(rows),
};

export const ADMIT = {
  name: 'penstock_admit',
  text: `SELECT penstock_admit(${Object.keys(PARAMETERS)
    .map((name, i) => `${name} => $${i + 1}`)
    .join(', ')}) AS answer`,
};

const ENCODERS = Object.values(PARAMETERS);

/** The values of {@link ADMIT}'s parameters. */
export const encode = (batch: AdmissionBatch, holder: string): string[] =>
  ENCODERS.map((encoder) => encoder(batch, holder));

/** For the test that compares them with the database. */
export const ADMISSION_TYPES = [CALLERS, WINDOWS, ORGS, COUNTERS, PROFILES, REQUESTS];
