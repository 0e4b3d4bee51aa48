import { signInUrl } from '../access/index.js';
import type { Config } from '../config/index.js';
import type { RunningPenstock } from './start.js';

/** The text for the person at the terminal: the addresses, and at the first start also a key and a link to sign in. */
export function bannerOf(config: Config, running: Pick<RunningPenstock, 'url' | 'demo'>): string {
  const { url, demo } = running;
  const lines = ['', `Penstock is running at ${url}`, ''];
  if (config.role === 'worker') return [...lines.slice(0, 2), '  Role       worker', ''].join('\n');
  lines.push(
    `  Dashboard  ${url}/dashboard`,
    `  REST API   ${url}/api/v1`,
    `  OpenAI     ${url}/v1   (base address for clients of OpenAI's convention; of Anthropic's: ${url})`,
    `  GraphQL    ${url}/graphql   (GraphiQL in a browser; WebSocket on the same address)`,
    `  API docs   ${url}/docs`,
    '',
  );
  if (demo) lines.push(...demoLines(url, demo));
  return lines.join('\n');
}

function demoLines(url: string, { key, linkToken }: NonNullable<RunningPenstock['demo']>): string[] {
  return [
    '  The organisation "Demo" (Business plan) was created. This is its API key with all scopes. It is shown only now:',
    '',
    `    ${key}`,
    '',
    "  This is the owner's link to the dashboard. It works once, within a week. Choose a password there:",
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
