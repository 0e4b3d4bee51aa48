import { faultOf } from './fault.js';

/** What a person may do in an organisation. */
export type Role = 'owner' | 'admin' | 'member' | 'viewer';

/** An organisation that the signed-in person belongs to. */
export interface Membership {
  id: string;
  name: string;
  role: Role;
}

/** The signed-in person and their organisations. */
export interface Session {
  user: { id: string; email: string };
  organizations: Membership[];
}

/** The ways to sign in to this server. */
export interface SignInOptions {
  password: boolean;
  oidc: { name: string } | null;
}

/** The person whom a one-time link belongs to. */
export interface LinkOwner {
  email: string;
  expiresAt: string;
}

/** All addresses are relative to the page, because a proxy may serve it below a path that the page does not know. */
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

/** @throws Fault with status 401 if nobody is signed in */
export const readSession = (): Promise<Session> => call('session');
export const readOptions = (): Promise<SignInOptions> => call('options');
export const signIn = (email: string, password: string): Promise<Session> =>
  call('sign-in', { email, password });
export const signOut = (): Promise<{ success: boolean }> => call('sign-out', {});
/** @throws Fault with status 404 if the link was used or has expired */
export const readLink = (token: string): Promise<LinkOwner> => call('link', { token });
/** Sets the password and signs in. The one-time link cannot be used again. */
export const choosePassword = (token: string, password: string): Promise<Session> =>
  call('password', { token, password });
/** The address that starts the sign-in at the identity provider. */
export const OIDC_ADDRESS = 'auth/oidc';
