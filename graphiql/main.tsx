/**
 * GraphiQL with a field for the key, which goes with every operation, over the WebSocket of subscriptions too. It is rendered once; another key is
 * another fetcher of the same GraphiQL, so that nothing that was typed or clicked meanwhile is lost.
 */
import { createGraphiQLFetcher, type Fetcher } from '@graphiql/toolkit';
import { GraphiQL } from 'graphiql';
import { GraphQLError } from 'graphql';
import { TabFocus } from 'monaco-editor/esm/vs/editor/browser/config/tabFocus.js';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { QUERIES } from './queries.js';

const WORKERS: Record<string, string> = { json: 'json', graphql: 'graphql' };
Object.assign(globalThis, {
  MonacoEnvironment: {
    getWorker: (_id: string, label: string) =>
      new Worker(new URL(`assets/graphiql-${WORKERS[label] ?? 'editor'}.js`, document.baseURI)),
  },
});
// Tab leaves an editor, as it leaves any field: without a mouse nobody could go on from there. An open completion still takes it.
TabFocus.setTabFocusMode(true);

const find = (id: string): HTMLElement => {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`The page has no element ${id}`);
  return element;
};
const input = find('key') as HTMLInputElement;
const state = find('state');
const root = createRoot(find('graphiql'));
const endpoint = new URL('graphql', document.baseURI).href;

const HINT =
  'Enter an API key in the field at the top, or sign in at the dashboard: every operation needs one of them. The first start printed one; ' +
  '"npm run --silent cli -- key create --org Demo --name mine --scopes all" makes another.';

/** Without a key the browser's own session goes along. */
function withKey(key: string): Fetcher {
  const headers: Record<string, string> = key === '' ? {} : { authorization: `Bearer ${key}` };
  return createGraphiQLFetcher({
    url: endpoint,
    subscriptionUrl: endpoint.replace(/^http/, 'ws'),
    headers,
    wsConnectionParams: headers,
  });
}

/** Without a key there is nothing to ask: the page says so instead of collecting refusals. One in the headers' editor will do. */
const withoutKey: Fetcher = (operation, options) => {
  const given: Record<string, unknown> = options?.headers ?? {};
  const header = Object.entries(given).find(([name]) => name.toLowerCase() === 'authorization');
  const key = /^bearer +(\S+)$/i.exec(String(header?.[1] ?? ''))?.[1];
  return key === undefined ? { errors: [new GraphQLError(HINT)] } : withKey(key)(operation, options);
};

interface Verdict {
  fetcher: Fetcher;
  text: string;
  ok: '' | 'true' | 'false';
}

/** Whether the key works, and what the page says of it. */
async function judge(key: string): Promise<Verdict> {
  if (key === '') {
    const answer = await fetch('auth/options');
    const { user } = (await answer.json()) as { user: { email: string } | null };
    return user === null
      ? { fetcher: withoutKey, text: 'No key', ok: '' }
      : { fetcher: withKey(''), text: `Signed in as ${user.email}`, ok: 'true' };
  }
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ query: '{ __typename }' }),
  });
  // Read to its end, or the browser keeps the connection open.
  await response.text();
  if (response.ok) return { fetcher: withKey(key), text: 'Connected', ok: 'true' };
  const text = response.status === 401 ? 'Key refused' : `Refused (${response.status})`;
  return { fetcher: withoutKey, text, ok: 'false' };
}

const tabs = QUERIES.map((query) => ({ query }));

function draw(fetcher: Fetcher): void {
  flushSync(() =>
    root.render(
      <GraphiQL
        fetcher={fetcher}
        defaultTabs={tabs}
        shouldPersistHeaders={false}
        isHeadersEditorEnabled
        defaultEditorToolsVisibility={false}
      />,
    ),
  );
}

/** Before its editors stand, GraphiQL takes no clicks. */
async function editorsStand(): Promise<void> {
  while (document.querySelector('.graphiql-query-editor .view-lines') === null)
    await new Promise((resolve) => setTimeout(resolve, 20));
}

async function useKey(): Promise<void> {
  const key = input.value.trim();
  const verdict = await judge(key).catch((): Verdict => ({
    fetcher: withoutKey,
    text: 'No connection',
    ok: 'false',
  }));
  // A slow answer to an earlier key says nothing of this one.
  if (key !== input.value.trim()) return;
  draw(verdict.fetcher);
  await editorsStand();
  if (key !== input.value.trim()) return;
  state.textContent = verdict.text;
  state.dataset['ok'] = verdict.ok;
}

const report = (error: unknown): void => console.error(error);
input.value = sessionStorage.getItem('penstock.key') ?? '';
input.addEventListener('change', () => {
  sessionStorage.setItem('penstock.key', input.value.trim());
  useKey().catch(report);
});
useKey().catch(report);
