import { useSyncExternalStore } from 'react';

/** A place in the dashboard: `#/jobs/job_1` is `['jobs', 'job_1']`. */
export type Route = string[];

function subscribe(listener: () => void): () => void {
  window.addEventListener('hashchange', listener);
  return () => window.removeEventListener('hashchange', listener);
}

const readHash = (): string => window.location.hash;

/** The route as it is now, and whenever it changes. */
export function useRoute(): Route {
  const hash = useSyncExternalStore(subscribe, readHash);
  return hash
    .replace(/^#\/?/, '')
    .split('/')
    .filter((part) => part !== '')
    .map((part) => decodeURIComponent(part));
}

/** The address of a route, relative to the page. */
export function href(...route: Route): string {
  return `#/${route.map((part) => encodeURIComponent(part)).join('/')}`;
}

/** Goes to a route. */
export function go(...route: Route): void {
  window.location.hash = href(...route);
}

/** Goes to a route in place of what is shown now: there is no way back to a used link. */
export function replaceRoute(...route: Route): void {
  window.history.replaceState(null, '', `${window.location.pathname}${href(...route)}`);
  window.dispatchEvent(new HashChangeEvent('hashchange'));
}

/** The token of a one-time link `#link=<token>`. */
export function useLinkToken(): string | null {
  const hash = useSyncExternalStore(subscribe, readHash);
  return /^#link=(.+)$/.exec(hash)?.[1] ?? null;
}
