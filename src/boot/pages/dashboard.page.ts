import { existsSync, readFileSync } from 'node:fs';
import { builtFile } from './built-file.js';

/** What the build lists of the dashboard (scripts/build-pages.mjs). */
interface DashboardFiles {
  entry: string;
  sheet: string;
  /** What the entry imports at once. */
  imports: string[];
}

/** Named by their content. Those of the build before stay for an hour: an open page may still load a view of it. */
export const DASHBOARD_FILE = /^dashboard-[\w-]+\.(?:js|css)$/;

const filesOf = (): DashboardFiles =>
  JSON.parse(readFileSync(builtFile('dashboard.json'), 'utf8')) as DashboardFiles;

/** The page's script, its style sheet and the files that it loads first, of whatever build. */
const FIRST = /^dashboard(?:-([a-z][\w-]*))?-[\w-]{8}(\.(?:js|css))$/;

/** What stands now in the place of a file of another build: a page that names it, of a process of another version, is given that for this once. */
function currentName(name: string): string | null {
  const [, part, ending] = FIRST.exec(name) ?? [];
  if (ending === undefined) return null;
  const { entry, sheet, imports } = filesOf();
  return (
    [entry, sheet, ...imports].find((file) => {
      const [, itsPart, itsEnding] = FIRST.exec(file) ?? [];
      return itsPart === part && itsEnding === ending;
    }) ?? null
  );
}

/** The file as it is sent: packed by the build where the browser takes that. Null where there is none. */
export function dashboardFile(
  name: string,
  takesBrotli: boolean,
): { path: string; isPacked: boolean; isCurrent: boolean } | null {
  const isCurrent = DASHBOARD_FILE.test(name) && existsSync(builtFile(name));
  const current = isCurrent ? name : currentName(name);
  if (current === null) return null;
  const path = builtFile(current);
  const isPacked = takesBrotli && existsSync(`${path}.br`);
  return { path: isPacked ? `${path}.br` : path, isPacked, isCurrent };
}

/** The dashboard's frame: the rest is drawn by its script, which the build makes of dashboard/. @param nonce lets in the styles that its packages add */
export function dashboardHtml(nonce: string): string {
  const { entry, sheet, imports } = filesOf();
  const preloads = imports.map((name) => `<link rel="modulepreload" href="assets/${name}" />`).join('\n    ');
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>Penstock</title>
    <link rel="icon" href="assets/mark.svg" />
    <link rel="stylesheet" href="assets/${sheet}" />
    ${preloads}
  </head>
  <body>
    <div id="dashboard"></div>
    <noscript>The dashboard needs JavaScript.</noscript>
    <script type="module" src="assets/${entry}" nonce="${nonce}"></script>
  </body>
</html>
`;
}
