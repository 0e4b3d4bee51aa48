import { defineEntity, p } from '@mikro-orm/postgresql';
import { tenantFilter } from '../database/index.js';

/** An organisation and its subscription (contract 2.14, decisions 2). */
export const Organization = defineEntity({
  name: 'Organization',
  tableName: 'organizations',
  properties: {
    id: p.text().primary(),
    name: p.text(),
    planCode: p.text(),
    subscriptionId: p.text().nullable(),
    subscriptionStatus: p.text(),
    anchorAt: p.datetime(),
    subscriptionEndsAt: p.datetime().nullable(),
    version: p.integer().columnType('bigint'),
    serviceUserId: p.text(),
    createdAt: p.datetime(),
  },
  filters: tenantFilter((id) => ({ id })),
});

/** A person, or the service user that an organisation's command-line keys act as. */
export const User = defineEntity({
  name: 'User',
  tableName: 'users',
  properties: {
    id: p.text().primary(),
    orgId: p.text().nullable(),
    email: p.text().nullable(),
    kind: p.text(),
    createdAt: p.datetime(),
  },
});

export const Member = defineEntity({
  name: 'Member',
  tableName: 'members',
  properties: {
    orgId: p.text().primary(),
    userId: p.text().primary(),
    role: p.text(),
    createdAt: p.datetime(),
  },
  filters: tenantFilter(),
});

/** An API key without its hash, which no entity ever carries. */
export const ApiKey = defineEntity({
  name: 'ApiKey',
  tableName: 'api_keys',
  properties: {
    id: p.text().primary(),
    orgId: p.text(),
    userId: p.text(),
    name: p.text(),
    prefix: p.text(),
    scopes: p.array(),
    expiresAt: p.datetime().nullable(),
    revokedAt: p.datetime().nullable(),
    lastUsedAt: p.datetime().nullable(),
    createdAt: p.datetime(),
  },
  filters: tenantFilter(),
});

export const accessEntities = [Organization, User, Member, ApiKey];
