import { SCOPES } from '../../contract/words.js';

/** What a client token may have. */
const FOR_TOKENS = SCOPES.filter((scope) => scope !== 'tokens' && scope !== 'webhooks');

/** API docs from the served OpenAPI description, by Swagger UI from its npm package. */
export const DOCS_HTML = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Penstock API</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="assets/swagger-ui.css" />
    <link rel="stylesheet" href="assets/docs-page.css" />
  </head>
  <body>
    <header class="bar">
      <a class="brand" href="docs">Penstock</a>
      <nav><a href="dashboard">Dashboard</a><a href="graphql">GraphQL</a><a aria-current="page" href="docs">REST API</a></nav>
      <button id="session" type="button">Use my session</button>
      <a href="api/v1/openapi.json">openapi.json</a><a href="v1/openapi.json">/v1</a><a href="graphql/schema.graphql">schema.graphql</a><a href="graphql/client.graphql">client.graphql</a><a href="asyncapi.json">asyncapi.json</a>
    </header>
    <main id="docs"></main>
    <script src="assets/swagger-ui.js"></script>
    <script src="assets/docs-page.js"></script>
  </body>
</html>
`;

export const DOCS_STYLE = `
html, body { margin: 0; background: #f7f9fc; font-family: system-ui, sans-serif; }
.bar { position: sticky; top: 0; z-index: 10; display: flex; align-items: center; gap: 20px; padding: 12px 24px; background: #10243d; }
.bar button { padding: 5px 12px; border: 1px solid #b9cbe2; border-radius: 6px; background: none; color: #fff; font: inherit; font-size: 14px; cursor: pointer; }
html.dark-mode body { background: #0d1520; }
html.dark-mode .swagger-ui .info .title, html.dark-mode .swagger-ui .opblock-tag, html.dark-mode .swagger-ui table thead tr th { color: #e6edf6; }
.bar a { color: #b9cbe2; text-decoration: none; font-size: 14px; }
.bar a[aria-current], .bar a:hover { color: #fff; }
.bar a.brand { color: #fff; font-weight: 700; font-size: 16px; letter-spacing: .02em; }
.bar nav { display: flex; gap: 16px; flex: 1; }
@media (max-width: 700px) { .bar { flex-wrap: wrap; gap: 8px 16px; padding: 12px 16px; } }
#docs { max-width: 1120px; margin: 0 auto; padding-bottom: 64px; }
.swagger-ui, .swagger-ui .info .title, .swagger-ui .opblock-tag, .swagger-ui .opblock .opblock-summary-description,
.swagger-ui .btn, .swagger-ui table thead tr td, .swagger-ui table thead tr th, .swagger-ui p, .swagger-ui a, .swagger-ui li,
.swagger-ui .parameter__name, .swagger-ui .tab li, .swagger-ui label, .swagger-ui input, .swagger-ui select, .swagger-ui h4,
.swagger-ui .response-col_status, .swagger-ui .markdown p, .swagger-ui .renderedMarkdown p, .swagger-ui .info .title small pre {
  font-family: system-ui, sans-serif; }
.swagger-ui .info .title, .swagger-ui .opblock-tag, .swagger-ui table thead tr th { color: #10243d; }
.swagger-ui .info .title small { top: -8px; }
.swagger-ui .info { margin: 32px 0 16px; }
.swagger-ui .info .title { font-size: 30px; }
.swagger-ui .info .title small { background: #35537a; }
.swagger-ui .scheme-container { background: transparent; box-shadow: none; padding: 0 0 8px; }
.swagger-ui .opblock-tag { font-size: 19px; border-bottom-color: #dbe4ef; }
.swagger-ui .opblock { border-radius: 8px; box-shadow: none; }
.swagger-ui .opblock .opblock-summary { padding: 6px 10px; }
.swagger-ui .opblock .opblock-summary-method { border-radius: 6px; min-width: 72px; font-family: system-ui, sans-serif; }
.swagger-ui .btn.authorize { border-color: #1a7f4b; color: #1a7f4b; }
.swagger-ui .btn.authorize svg { fill: #1a7f4b; }
`;

/** Calls from the page go where the page came from, by whichever name: its policy allows no other host. */
export const DOCS_SCRIPT = `'use strict';
const dark = matchMedia('(prefers-color-scheme: dark)');
const shade = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', shade);
shade();

// A session's cookie opens GraphQL alone: calls of the page are made with a client token of it.
async function useSession(ui, button) {
  const scopes = ${JSON.stringify(FOR_TOKENS)};
  const query = 'mutation ($scopes: [KeyScope!]!) { createClientToken(input: { scopes: $scopes, ttlSeconds: 3600 }) { token } }';
  const response = await fetch('graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables: { scopes } }),
  });
  const { data } = await response.json();
  const token = data?.createClientToken?.token;
  if (token) ui.preauthorizeApiKey('bearer', token);
  button.textContent = token ? 'Signed in for an hour' : 'Sign in at the dashboard first';
}

(async () => {
  const response = await fetch('api/v1/openapi.json');
  const spec = await response.json();
  spec.servers = [{ url: new URL('api/v1', document.baseURI).href }];
  const ui = SwaggerUIBundle({
    spec,
    dom_id: '#docs',
    deepLinking: true,
    docExpansion: 'list',
    filter: true,
    tryItOutEnabled: true,
    persistAuthorization: true,
    displayRequestDuration: true,
    defaultModelsExpandDepth: 0,
    validatorUrl: null,
    presets: [SwaggerUIBundle.presets.apis],
  });
  const button = document.getElementById('session');
  button.addEventListener('click', () => useSession(ui, button));
})();
`;
