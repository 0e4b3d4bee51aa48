/** GraphiQL from its npm package, with a field for the key: it goes with every query and over the WebSocket of subscriptions. */
export const GRAPHIQL_HTML = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Penstock GraphiQL</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="assets/graphiql.css" />
    <link rel="stylesheet" href="assets/graphiql-page.css" />
  </head>
  <body>
    <header class="bar">
      <a class="brand" href="docs">Penstock</a>
      <nav><a href="dashboard">Dashboard</a><a aria-current="page" href="graphql">GraphQL</a><a href="docs">REST API</a></nav>
      <label class="key" title="Sent as the header Authorization: Bearer sk_…, over WebSocket too; kept in this tab only"><span>API key</span>
        <input id="key" type="password" placeholder="sk_… (shown at the first start)" autocomplete="off" spellcheck="false" /></label>
      <output id="state"></output>
    </header>
    <main id="graphiql"></main>
    <script src="assets/react.js"></script>
    <script src="assets/react-dom.js"></script>
    <script src="assets/graphiql.js"></script>
    <script src="assets/graphiql-page.js"></script>
  </body>
</html>
`;

export const GRAPHIQL_STYLE = `
html, body { height: 100%; margin: 0; }
body { display: flex; flex-direction: column; font-family: system-ui, sans-serif; }
main { flex: 1; min-height: 0; }
.bar { display: flex; align-items: center; gap: 20px; padding: 8px 16px; background: #10243d; color: #fff; }
.bar a { color: #b9cbe2; text-decoration: none; font-size: 14px; }
.bar a[aria-current], .bar a:hover { color: #fff; }
.bar a.brand { color: #fff; font-weight: 700; font-size: 16px; letter-spacing: .02em; }
.bar nav { display: flex; gap: 16px; flex: 1; }
.bar .key { display: flex; align-items: center; gap: 8px; font-size: 13px; color: #b9cbe2; }
.bar input { width: 320px; max-width: 34vw; padding: 6px 10px; border: 1px solid #35537a; border-radius: 6px;
  background: #0a1829; color: #fff; font: 13px ui-monospace, monospace; }
.bar input:focus { outline: 2px solid #4d9fff; outline-offset: -1px; }
.bar output { min-width: 96px; font-size: 13px; color: #b9cbe2; }
.bar output[data-ok="true"] { color: #6fdc9a; }
.bar output[data-ok="false"] { color: #ffb3a7; }
/* A telephone: the key below the links, the answer below the question. GraphiQL knows only side by side, where neither could be read. */
@media (max-width: 700px) {
  .bar { flex-wrap: wrap; gap: 8px 16px; }
  .bar .key { flex: 1 1 100%; min-width: 0; order: 1; }
  .bar input { flex: 1; min-width: 0; max-width: none; }
  .bar output { min-width: 0; }
  .graphiql-container #graphiql-session { flex-direction: column; }
  .graphiql-container #graphiql-session > .graphiql-horizontal-drag-bar { display: none; }
}
/* GraphiQL 3 asks for web fonts by name only; the system's own serve as well. */
.graphiql-container, :root { --font-family: system-ui, sans-serif; --font-family-mono: ui-monospace, Menlo, Consolas, monospace; }
`;

const QUERIES = {
  quota: `# 1. Paste an API key at the top and press Enter: it is
#    sent as Authorization: Bearer sk_… (or sign in at the
#    dashboard: then this page asks in your name)
# 2. Press the button on the right, or Ctrl-Enter.
# The book on the left describes every field.

# Quota and the models that are ready to use
query Overview {
  quota {
    orgId
    plan { code name entitled periodEnd }
    quotas { bucket remaining limit used usagePercent }
  }
  models(available: true) { id type tier multiplier }
}
`,
  chat: `# A chat completion in one piece
mutation Chat {
  createChatCompletion(
    input: { messages: [{ role: "user", content: "What is a penstock?" }] }
  ) {
    model
    choices { message { content } finishReason }
    usage { totalTokens creditsUsed tokensRemainingEstimate }
  }
}
`,
  tokens: `# The same, token by token (over WebSocket)
subscription Tokens {
  chatCompletion(
    input: { messages: [{ role: "user", content: "What is a penstock?" }] }
  ) {
    choices { delta { content } finishReason }
    usage { totalTokens creditsUsed }
  }
}
`,
  image: `# An image as a job: run this, then watch it with the next tab
mutation Image {
  generateImage(
    input: { prompt: "A dam in the morning light", size: "1024x1024" }
    async: true
  ) {
    job { id status estimatedCredits }
  }
}
`,
  jobs: `# All jobs of the organisation, live (over WebSocket)
subscription Jobs {
  jobUpdates {
    sequence
    type
    job { id tool status progress outputData }
  }
}
`,
};

export const GRAPHIQL_SCRIPT = `'use strict';
(() => {
  const queries = ${JSON.stringify(Object.values(QUERIES))};
  const input = document.getElementById('key');
  const state = document.getElementById('state');
  const root = ReactDOM.createRoot(document.getElementById('graphiql'));
  const endpoint = new URL('graphql', document.baseURI).href;

  /** Tab leaves an editor, as it leaves any field: who has no mouse could not go on from there. Completion, while it is open, still takes it. */
  const free = new WeakSet();
  document.addEventListener('focusin', ({ target }) => {
    const editor = target.closest('.CodeMirror')?.CodeMirror;
    if (!editor || free.has(editor)) return;
    free.add(editor);
    editor.addKeyMap({ Tab: false, 'Shift-Tab': false });
  });

  const show = (text, ok) => {
    state.textContent = text;
    state.dataset.ok = ok;
  };

  const hint =
    'Enter an API key in the field at the top, or sign in at the dashboard: every operation needs one of them. The first start printed one; ' +
    '"npm run --silent cli -- key create --org Demo --name mine --scopes all" makes another.';

  /** Without a key there is nothing to ask: the page says so instead of collecting refusals. One in the headers' editor will do. */
  const withoutKey = async (operation, options) => {
    const header = Object.entries(options?.headers ?? {}).find(([name]) => name.toLowerCase() === 'authorization');
    const key = /^bearer +(\\S+)$/i.exec(header?.[1] ?? '')?.[1];
    return key ? withKey(key)(operation, options) : { errors: [{ message: hint }] };
  };

  /** Without a key the browser's own session goes along. */
  const withKey = (key) => {
    const headers = key ? { authorization: 'Bearer ' + key } : {};
    return GraphiQL.createFetcher({
      url: endpoint,
      subscriptionUrl: endpoint.replace(/^http/, 'ws'),
      headers,
      wsConnectionParams: headers,
    });
  };

  /** Sets of keys: the editor has one from its beginning, this page gives it another; GraphiQL adds four once it knows of the editor, which takes a while. */
  const editorStands = async () => {
    const keyMaps = () => document.querySelector('.graphiql-query-editor .CodeMirror')?.CodeMirror.state.keyMaps;
    while (!(keyMaps()?.length > 2)) await new Promise((resolve) => setTimeout(resolve, 20));
  };

  /** Whether the key works, and what to tell of it. */
  const check = async (key) => {
    if (!key) {
      const { user } = await (await fetch('auth/options')).json();
      return user ? [true, 'Signed in as ' + user.email, 'true'] : [false, 'No key', ''];
    }
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer ' + key },
      body: JSON.stringify({ query: '{ __typename }' }),
    });
    // Read to its end, or the browser keeps it open.
    await response.text();
    if (response.ok) return [true, 'Connected', 'true'];
    return [false, response.status === 401 ? 'Key refused' : 'Refused (' + response.status + ')', 'false'];
  };

  const render = async () => {
    const key = input.value.trim();
    const [valid, text, ok] = await check(key).catch(() => [false, 'No connection', 'false']);
    // A slow answer to an earlier key says nothing of this one.
    if (key !== input.value.trim()) return;
    const graphiql = React.createElement(GraphiQL, {
      key: valid ? key || 'session' : 'none',
      fetcher: valid ? withKey(key) : withoutKey,
      defaultTabs: queries.map((query) => ({ query })),
      shouldPersistHeaders: false,
      isHeadersEditorEnabled: true,
      defaultEditorToolsVisibility: false,
    });
    // Another key is another GraphiQL. What is clicked in the old one, or before the new one has its editors, is lost: nobody is told of the
    // key before.
    ReactDOM.flushSync(() => root.render(graphiql));
    await editorStands();
    if (key === input.value.trim()) show(text, ok);
  };

  input.value = sessionStorage.getItem('penstock.key') || '';
  input.addEventListener('change', () => {
    sessionStorage.setItem('penstock.key', input.value.trim());
    void render();
  });
  void render();
})();
`;
