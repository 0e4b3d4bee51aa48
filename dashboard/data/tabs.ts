/** All tabs of the browser have the same cookie, so they sign in and out together. */
const channel = new BroadcastChannel('penstock.session');

/** Tells the other tabs that somebody has signed in or out here. */
export const tellOtherTabs = (): void => channel.postMessage(null);

/** Registers what happens when somebody has signed in or out in another tab. @returns a function that removes it */
export function onOtherTab(listener: () => void): () => void {
  channel.addEventListener('message', listener);
  return () => channel.removeEventListener('message', listener);
}
