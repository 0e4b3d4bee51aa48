import type { MemberRole } from '../../contract/words.js';

/** Who signed in, and where they belong; what the dashboard is told first. */
export interface SignedIn {
  user: { id: string; email: string };
  /** In the order in which they joined them. */
  organizations: { id: string; name: string; role: MemberRole }[];
}

/** A session that was just made: `token` is what the browser keeps, and exists nowhere else. */
export interface NewSession extends SignedIn {
  token: string;
}

/** A one-time link by which a person chooses a password; `token` exists nowhere else. */
export interface NewLink {
  token: string;
  /** ISO 8601. */
  expiresAt: string;
}

/**
 * Signing in and out, one-time links, passwords (decisions 5). Until the operator or an identity provider vouches for an address, each organisation that
 * names it does so for itself: its link, the password that is set by it and their sessions lead into that organisation and no other.
 */
export interface PeopleService {
  /** @throws ApiError unauthorized `Invalid email or password`; rate_limited after ten failures within 15 minutes; forbidden for a member of nothing */
  signIn(email: unknown, password: unknown): Promise<NewSession>;
  /**
   * For an address that an identity provider vouches for. Where only organisations had named it before, passwords that were set meanwhile and
   * their sessions end: whoever set it need not be that person.
   * @throws ApiError forbidden for who is no member of any organisation
   */
  signInVerified(email: string): Promise<NewSession>;
  /** Null: no session, or one that ended. */
  session(token: string): Promise<SignedIn | null>;
  /** As far as a session reaches. Null: there is no such person. */
  find(userId: string, sessionId: string): Promise<SignedIn | null>;
  /** At once on every process, with its open connections. */
  signOut(token: string): Promise<void>;
  /** Whose link it is. @throws ApiError not_found */
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
  /** A link for whoever has this address; earlier ones end. For the operator. @throws ApiError not_found */
  createLink(email: string): Promise<NewLink & { email: string }>;
}
