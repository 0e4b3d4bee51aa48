import { signInUrl } from '../access/index.js';
import type { Config } from '../config/index.js';
import type { RunningPenstock } from './start.js';

/** What a person at a terminal is told: where to go, and once, at the first start, how to get in: a link and a key. */
export function bannerOf(config: Config, running: Pick<RunningPenstock, 'url' | 'demo'>): string {
  const { url, demo } = running;
  const lines = ['', `Penstock is running at ${url}`, ''];
  if (config.role === 'worker') return [...lines.slice(0, 2), '  Role       worker', ''].join('\n');
  lines.push(
    `  Dashboard  ${url}/dashboard`,
    `  REST API   ${url}/api/v1`,
    `  GraphQL    ${url}/graphql   (GraphiQL in a browser; WebSocket on the same address)`,
    `  API docs   ${url}/docs`,
    '',
  );
  if (demo) lines.push(...demoLines(url, demo));
  return lines.join('\n');
}

function demoLines(url: string, { key, linkToken }: NonNullable<RunningPenstock['demo']>): string[] {
  return [
    '  An organisation "Demo" on the Business plan was made. Its key, with all scopes, is shown this once:',
    '',
    `    ${key}`,
    '',
    "  So is its owner's link to the dashboard (it works once, for a week: choose a password there):",
    '',
    `    ${signInUrl(url, linkToken)}`,
    '',
    '  Try it:',
    '',
    `    curl -s ${url}/api/v1/chat/completions \\`,
    `      -H 'Authorization: Bearer ${key}' \\`,
    `      -H 'Content-Type: application/json' \\`,
    `      -d '{"messages":[{"role":"user","content":"Hello"}]}'`,
    '',
  ];
}
