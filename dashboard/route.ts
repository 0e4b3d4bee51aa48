import { useSyncExternalStore } from 'react';

/** A place in the dashboard: `#/jobs/job_1` is `['jobs', 'job_1']`. */
export type Route = string[];

function subscribe(listener: () => void): () => void {
  window.addEventListener('hashchange', listener);
  return () => window.removeEventListener('hashchange', listener);
}

const readHash = (): string => window.location.hash;

/** The address of a route, relative to the page. */
export function href(...route: Route): string {
  return `#/${route.map((part) => encodeURIComponent(part)).join('/')}`;
}

/** The address of a conversation with an agent. */
export const conversationHref = (agentId: string, sessionId: string): string =>
  `${href('agents', agentId)}?session=${encodeURIComponent(sessionId)}`;

/** Goes to a route. */
export function go(...route: Route): void {
  window.location.hash = href(...route);
}

/** Replaces the current route. The browser's Back button must not return to a used link. */
export function replaceRoute(...route: Route): void {
  window.history.replaceState(null, '', `${window.location.pathname}${href(...route)}`);
  window.dispatchEvent(new HashChangeEvent('hashchange'));
}

/** The token of a one-time link `#link=<token>`. */
export const linkTokenIn = (hash: string): string | null => /^#link=(.+)$/.exec(hash)?.[1] ?? null;

export const useLinkToken = (): string | null => linkTokenIn(useSyncExternalStore(subscribe, readHash));
