import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import compression from 'compression';
import { Router, type Request, type RequestHandler, type Response } from 'express';
import { builtFile } from './built-file.js';
import { dashboardFile, dashboardHtml } from './dashboard.page.js';
import { DOCS_HTML, DOCS_SCRIPT, DOCS_STYLE } from './docs.page.js';
import { MARK_SVG } from './mark.js';
import { GRAPHIQL_ABSENT_HTML, GRAPHIQL_HTML } from './graphiql.page.js';

const packages = createRequire(import.meta.url);

/** A file of an installed package, so that pages load nothing from other hosts. */
function packageFile(name: string, file: string): string {
  return join(dirname(packages.resolve(`${name}/package.json`)), file);
}

const FILES: Record<string, () => string> = {
  ...Object.fromEntries(
    ['graphiql.js', 'graphiql.css', 'graphiql-editor.js', 'graphiql-json.js', 'graphiql-graphql.js'].map(
      (name) => [name, () => builtFile(name)],
    ),
  ),
  'swagger-ui.js': () => packageFile('swagger-ui-dist', 'swagger-ui-bundle.js'),
  'swagger-ui.css': () => packageFile('swagger-ui-dist', 'swagger-ui.css'),
};

const TEXTS: Record<string, { type: string; text: string }> = {
  'docs-page.js': { type: 'text/javascript', text: DOCS_SCRIPT },
  'mark.svg': { type: 'image/svg+xml', text: MARK_SVG },
  'docs-page.css': { type: 'text/css', text: DOCS_STYLE },
};

const IMMUTABLE = 'public, max-age=31536000, immutable';
const HASHED = /^(.+)-([0-9a-f]{16})(\.[a-z]+)$/;

/** By the file's time, since a build may replace it. */
const hashes = new Map<string, { changedAt: number; hash: string }>();

/** The hash of an asset's content; null where there is no such asset. */
function hashOf(name: string): string | null {
  const text = Object.hasOwn(TEXTS, name) ? TEXTS[name] : undefined;
  if (text !== undefined) return shortHash(text.text);
  const file = Object.hasOwn(FILES, name) ? FILES[name]?.() : undefined;
  const found = file === undefined ? undefined : statSync(file, { throwIfNoEntry: false });
  if (file === undefined || found === undefined) return null;
  const known = hashes.get(name);
  if (known?.changedAt === found.mtimeMs) return known.hash;
  const hash = shortHash(readFileSync(file));
  hashes.set(name, { changedAt: found.mtimeMs, hash });
  return hash;
}

const shortHash = (content: string | Buffer): string =>
  createHash('sha256').update(content).digest('hex').slice(0, 16);

/** A page names its assets by their content, so that browsers keep them for ever. */
const withHashes = (html: string): string =>
  html.replace(/\bassets\/([\w-]+)(\.(?:js|css|svg))/g, (address, name: string, ending: string) => {
    const hash = hashOf(name + ending);
    return hash === null ? address : `assets/${name}-${hash}${ending}`;
  });

/** The name behind a hashed one. Not current: the page that names it is of another version, and is given what there is now, for this once. */
function plainName(given: string): { name: string; isCurrent: boolean } {
  const [, name, hash, ending] = HASHED.exec(given) ?? [];
  if (name === undefined || ending === undefined) return { name: given, isCurrent: false };
  return { name: name + ending, isCurrent: hashOf(name + ending) === hash };
}

/**
 * Content-Security-Policy: the pages may load from and connect to this server only. GraphiQL and Swagger UI need inline styles; the dashboard
 * does not.
 */
const policyOf = (styles: string, connections: string): string =>
  [
    "default-src 'self'",
    "script-src 'self'",
    `style-src ${styles}`,
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "media-src 'self' blob:",
    `connect-src 'self' ${connections}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

const HOST = /^(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/**
 * This server's own addresses: the configured one, and the host that the page was requested from. Some browsers do not count WebSockets as
 * `'self'`, and behind a proxy the server does not know the page's scheme.
 */
function ownAddresses(publicUrl: string, host: string | undefined): string {
  const { origin } = new URL(publicUrl);
  const requested = host !== undefined && HOST.test(host) ? [`ws://${host}`, `wss://${host}`] : [];
  return [...new Set([origin, origin.replace(/^http/, 'ws'), ...requested])].join(' ');
}

export interface Pages {
  /** Serves GraphiQL to browsers that open the API's address; calls `next` for API clients. */
  graphiql: RequestHandler;
  router: Router;
}

/**
 * The pages: the dashboard at /dashboard, GraphiQL at /graphql for browsers, the API docs at /docs, and a redirect from /. All addresses are
 * relative, because a proxy may serve them below another path. Pages and their assets are packed by a package; answers of the API pack themselves (ADR 15).
 */
export function createPages(publicUrl: string): Pages {
  const sendPage = pageSender(publicUrl);
  const router = Router();
  router.use(compression());
  router.get('/', (_request, response) => response.redirect('docs'));
  router.get('/docs', (request, response) => sendPage(request, response, { html: DOCS_HTML }));
  router.get('/dashboard', (request, response) => {
    const nonce = randomBytes(16).toString('base64');
    sendPage(request, response, { html: dashboardHtml(nonce), styles: `'self' 'nonce-${nonce}'` });
  });
  router.get('/assets/:name', sendDashboardFile);
  router.get('/assets/:name', (request, response, next) => {
    const { name, isCurrent } = plainName(request.params.name);
    const text = Object.hasOwn(TEXTS, name) ? TEXTS[name] : undefined;
    const file = Object.hasOwn(FILES, name) ? FILES[name]?.() : undefined;
    response.setHeader('Cache-Control', isCurrent ? IMMUTABLE : 'no-cache');
    if (text) response.type(text.type).send(text.text);
    else if (file !== undefined && existsSync(file))
      response.sendFile(file, { etag: true, acceptRanges: false, cacheControl: false });
    else next();
  });
  const graphiql: RequestHandler = (request, response, next) => {
    if (!wantsPage(request)) return next();
    const html = existsSync(builtFile('graphiql.js')) ? GRAPHIQL_HTML : GRAPHIQL_ABSENT_HTML;
    sendPage(request, response, { html });
  };
  return { graphiql, router };
}

/** A file of the dashboard, which the build packed already. */
const sendDashboardFile: RequestHandler<{ name: string }> = (request, response, next) => {
  const found = dashboardFile(request.params.name, request.acceptsEncodings('br') === 'br');
  if (found === null) return next();
  response.setHeader('Cache-Control', found.isCurrent ? IMMUTABLE : 'no-cache');
  response.vary('Accept-Encoding');
  if (found.isPacked) response.setHeader('Content-Encoding', 'br');
  response.type(extname(request.params.name));
  response.sendFile(found.path, { etag: true, acceptRanges: false, cacheControl: false });
};

/** Whether a browser opens the page, and not a client that calls the API. The page itself needs no key. */
function wantsPage(request: Request): boolean {
  return (request.headers.accept ?? '').includes('text/html') && request.query['query'] === undefined;
}

interface SentPage {
  html: string;
  /** What `style-src` of its policy lets in. */
  styles?: string;
}

/** Redirects a path with a slash at its end: from there a page's relative addresses would be wrong. */
function pageSender(publicUrl: string) {
  return (
    { path, headers }: Request,
    response: Response,
    { html, styles = "'self' 'unsafe-inline'" }: SentPage,
  ): void => {
    if (path.endsWith('/')) return response.redirect(`..${path.slice(0, -1)}`);
    const policy = policyOf(styles, ownAddresses(publicUrl, headers.host));
    response.setHeader('Content-Security-Policy', policy);
    response.setHeader('Referrer-Policy', 'no-referrer');
    response.setHeader('X-Frame-Options', 'DENY');
    response.setHeader('Cache-Control', 'no-cache');
    response.type('html').send(withHashes(html));
  };
}
