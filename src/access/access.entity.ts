import { defineEntity, p } from '@mikro-orm/postgresql';
import type { InferEntity } from '@mikro-orm/postgresql';
import type { MemberRole, PlanCode, Scope } from '../contract/words.js';
import { tenantFilter } from '../database/index.js';
import { peopleEntities, User } from './people/people.entity.js';
import type { Subscription } from './subscription.js';

/** An organisation and its subscription (contract 2.14, decisions 2). Its version grows with every change of the row. */
export const Organization = defineEntity({
  name: 'Organization',
  tableName: 'organizations',
  properties: {
    id: p.text().primary(),
    name: p.text(),
    planCode: p.text().$type<PlanCode>(),
    subscriptionId: p.text().nullable(),
    subscriptionStatus: p.text().$type<Subscription['status']>().defaultRaw("'none'"),
    anchorAt: p.datetime().defaultRaw("date_trunc('milliseconds', now())"),
    subscriptionEndsAt: p.datetime().nullable(),
    version: p.integer().columnType('bigint').version(),
    serviceUserId: p.text(),
    createdAt: p.datetime().defaultRaw('now()'),
    /** The end of the current period, and the database's time of the read; both are computed, never written. */
    periodEnd: p.datetime().formula((row) => `(penstock_period(${String(row.anchorAt)}, now())).period_end`),
    readAt: p.datetime().formula("date_trunc('milliseconds', now())"),
  },
  filters: tenantFilter((id) => ({ id })),
});
export type OrganizationRow = InferEntity<typeof Organization>;

/** A person's membership in an organisation, with the role. */
export const Member = defineEntity({
  name: 'Member',
  tableName: 'members',
  properties: {
    orgId: p.text().primary(),
    user: () => p.manyToOne(User).primary(),
    role: p.text().$type<MemberRole>(),
    createdAt: p.datetime().defaultRaw('now()'),
  },
  filters: tenantFilter(),
});

export type MemberRow = InferEntity<typeof Member>;

/** An API key, or the key by which a session acts in an organisation (ADR 10). */
export const ApiKey = defineEntity({
  name: 'ApiKey',
  tableName: 'api_keys',
  properties: {
    id: p.text().primary(),
    orgId: p.text(),
    userId: p.text(),
    name: p.text(),
    prefix: p.text(),
    /** Written once; only the authenticator's statements read it. */
    hash: p.blob().lazy(),
    scopes: p.array().$type<Scope[]>(),
    expiresAt: p.datetime().nullable(),
    revokedAt: p.datetime().nullable(),
    lastUsedAt: p.datetime().nullable(),
    createdAt: p.datetime().defaultRaw('now()'),
    /** Null: all models. */
    models: p.array().$type<string[]>().nullable(),
    rateRpm: p.integer().nullable(),
    rateBurst: p.integer().nullable(),
    endUser: p.text().nullable(),
    tags: p.array().$type<string[]>().default([]),
    /** Read by the authenticator's statements only, as `hash` is. */
    previousHash: p.blob().nullable().lazy(),
    previousUntil: p.datetime().nullable(),
    isRouter: p.boolean().default(false),
    /** Null: an API key that a person or the command line made. */
    sessionId: p.text().nullable(),
    /** The email address, at that time, of the person who made the key; null: the command line. */
    madeBy: p.text().nullable(),
  },
  filters: tenantFilter(),
});
export type ApiKeyRow = InferEntity<typeof ApiKey>;

export const accessEntities = [Organization, Member, ApiKey, ...peopleEntities];
