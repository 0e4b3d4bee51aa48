import { faultOf } from './fault.js';

/** What a person may do in an organisation. */
export type Role = 'owner' | 'admin' | 'member' | 'viewer';

/** An organisation of whoever is signed in. */
export interface Membership {
  id: string;
  name: string;
  role: Role;
}

/** Who is signed in, and where they belong. */
export interface Session {
  user: { id: string; email: string };
  organizations: Membership[];
}

/** How one can sign in here. */
export interface SignInOptions {
  password: boolean;
  oidc: { name: string } | null;
}

/** Whose a one-time link is. */
export interface LinkOwner {
  email: string;
  expiresAt: string;
}

/** All addresses are relative to the page: a proxy may serve it below a path that nobody sees here. */
async function call<Answer>(path: string, body?: object): Promise<Answer> {
  const response = await fetch(`auth/${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw await faultOf(response);
  return (await response.json()) as Answer;
}

/** @throws Fault with status 401 where nobody is signed in */
export const readSession = (): Promise<Session> => call('session');
export const readOptions = (): Promise<SignInOptions> => call('options');
export const signIn = (email: string, password: string): Promise<Session> =>
  call('sign-in', { email, password });
export const signOut = (): Promise<{ success: boolean }> => call('sign-out', {});
/** @throws Fault with status 404 where the link was used or is too old */
export const readLink = (token: string): Promise<LinkOwner> => call('link', { token });
/** Uses a one-time link up: sets the password and signs in. */
export const choosePassword = (token: string, password: string): Promise<Session> =>
  call('password', { token, password });
/** Where a browser goes to sign in with the identity provider. */
export const OIDC_ADDRESS = 'auth/oidc';
