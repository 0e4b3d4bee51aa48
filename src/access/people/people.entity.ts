import { defineEntity, p } from '@mikro-orm/postgresql';

/** A person, or the service user that an organisation's command-line keys act as. */
export const User = defineEntity({
  name: 'User',
  tableName: 'users',
  properties: {
    id: p.text().primary(),
    /** Of a service user only: a person belongs to no organisation but as its member. */
    orgId: p.text().nullable(),
    /** In small letters; null: a service user. */
    email: p.text().nullable(),
    kind: p.text().$type<'person' | 'service'>(),
    createdAt: p.datetime().defaultRaw('now()'),
  },
});

/** Who is signed in, by the hash of the cookie. Belongs to no organisation, so that only the system role has a right to it. */
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
    /** The organisations that it reaches; null: all of the person's. */
    vouchedBy: p.array().nullable(),
  },
});

/** A one-time link to sign in by, by the hash of its token. As sessions, of no organisation. */
export const SignInLink = defineEntity({
  name: 'SignInLink',
  tableName: 'sign_in_links',
  properties: {
    hash: p.blob().primary(),
    user: () => p.manyToOne(User),
    expiresAt: p.datetime(),
    createdAt: p.datetime().defaultRaw('now()'),
    /** The organisation that vouches for whoever follows it; null: the operator, an identity provider. */
    vouchedBy: p.text().nullable(),
  },
});

export const peopleEntities = [User, Session, SignInLink];
