/** GraphiQL's frame, with a field for the key: the rest is drawn by its script, which the build makes of graphiql/. */
export const GRAPHIQL_HTML = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Penstock GraphiQL</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="assets/graphiql.css" />
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
    <script src="assets/graphiql.js"></script>
  </body>
</html>
`;

/** Shown where GraphiQL was not built (`npm ci --omit=dev`). */
export const GRAPHIQL_ABSENT_HTML = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Penstock GraphQL</title>
    <link rel="icon" href="data:," />
  </head>
  <body>
    <p>This installation has no GraphiQL: its packages were installed with --omit=dev. The GraphQL API itself answers at this address.
      <code>npm ci &amp;&amp; npm run build</code> adds the page.</p>
    <p><a href="dashboard">Dashboard</a> · <a href="docs">REST API</a></p>
  </body>
</html>
`;
