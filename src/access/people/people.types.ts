import type { MemberRole } from '../../contract/words.js';

/** The signed-in person and their organisations: the dashboard's first data. */
export interface SignedIn {
  user: { id: string; email: string };
  /** In the order in which they joined them. */
  organizations: { id: string; name: string; role: MemberRole }[];
}

/** A person's credential, and the organisation that vouches for it; null: the operator, or an identity provider. */
export interface CredentialOwner {
  userId: string;
  vouchedBy: string | null;
}

/** A new session. `token` goes into the browser's cookie; the server stores only its hash. */
export interface NewSession extends SignedIn {
  token: string;
}

/** A one-time link by which a person sets a password. The server stores only the hash of `token`. */
export interface NewLink {
  token: string;
  /** ISO 8601. */
  expiresAt: string;
}

/**
 * Signing in and out, one-time links, passwords (decisions 5). An address is proven once the operator or an identity provider vouches for it.
 * Before that, each organisation vouches for itself only: its link, the password set by that link, and the resulting sessions give access to that
 * organisation and no other.
 */
export interface PeopleService {
  /**
   * @throws ApiError unauthorized `Invalid email or password`; rate_limited after ten failures within 15 minutes; forbidden for a person without
   * an organisation
   */
  signIn(email: unknown, password: unknown): Promise<NewSession>;
  /**
   * Signs in a person whose address an identity provider has verified. If only organisations vouched for the address before, its passwords and
   * their sessions end, because somebody else may have set them.
   * @throws ApiError forbidden for a person without an organisation
   */
  signInVerified(email: string): Promise<NewSession>;
  /** Null: no session, or one that ended. */
  session(token: string): Promise<SignedIn | null>;
  /** The person with the organisations that the session may use. Null: there is no such person. */
  find(userId: string, sessionId: string): Promise<SignedIn | null>;
  /** Ends the session on every process, with its open connections. */
  signOut(token: string): Promise<void>;
  /** The person of a link. @throws ApiError not_found */
  link(token: unknown): Promise<{ email: string; expiresAt: string }>;
  /** Sets the password of the link's person, ends their other sessions, and signs in. The link works once. @throws ApiError not_found, invalid_request */
  setPassword(linkToken: unknown, password: unknown): Promise<NewSession>;
  /** Ends the person's other sessions. @throws ApiError invalid_request, rate_limited as for `signIn` */
  changePassword(change: {
    userId: string;
    sessionId: string;
    currentPassword: string;
    newPassword: string;
  }): Promise<void>;
  /** Makes a link for the person with this address, on behalf of the operator; earlier links end. @throws ApiError not_found */
  createLink(email: string): Promise<NewLink & { email: string }>;
}
