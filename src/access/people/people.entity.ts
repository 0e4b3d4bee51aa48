import { defineEntity, p } from '@mikro-orm/postgresql';

/** A person, or the service user that an organisation's command-line keys act as. */
export const User = defineEntity({
  name: 'User',
  tableName: 'users',
  properties: {
    id: p.text().primary(),
    /** Set for a service user only: people belong to organisations as members. */
    orgId: p.text().nullable(),
    /** In lower case; null for a service user. */
    email: p.text().nullable(),
    kind: p.text().$type<'person' | 'service'>(),
    createdAt: p.datetime().defaultRaw('now()'),
  },
});

/** A session, found by the hash of its cookie. It belongs to no organisation, so only the system role may read the table. */
export const Session = defineEntity({
  name: 'Session',
  tableName: 'sessions',
  properties: {
    id: p.text().primary(),
    userId: p.text(),
    hash: p.blob(),
    createdAt: p.datetime().defaultRaw('now()'),
    expiresAt: p.datetime(),
    revokedAt: p.datetime().nullable(),
    /** The organisations that the session may use; null: all of the person's. */
    vouchedBy: p.array().nullable(),
  },
});

/** A one-time sign-in link, found by the hash of its token. Like a session it belongs to no organisation. */
export const SignInLink = defineEntity({
  name: 'SignInLink',
  tableName: 'sign_in_links',
  properties: {
    hash: p.blob().primary(),
    user: () => p.manyToOne(User),
    expiresAt: p.datetime(),
    createdAt: p.datetime().defaultRaw('now()'),
    /** The organisation that vouches for the person; null: the operator, or an identity provider. */
    vouchedBy: p.text().nullable(),
  },
});

/** A person who operates the installation. Only the system role may read the table. */
export const OperatorEntity = defineEntity({
  name: 'Operator',
  tableName: 'operators',
  properties: {
    user: () => p.manyToOne(User).primary(),
    createdAt: p.datetime().defaultRaw('now()'),
  },
});

export const peopleEntities = [User, Session, SignInLink, OperatorEntity];
