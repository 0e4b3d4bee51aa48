/** The dashboard's frame: the rest is drawn by its script, which the build makes of dashboard/. */
export const DASHBOARD_HTML = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>Penstock</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="assets/dashboard.css" />
  </head>
  <body>
    <div id="dashboard"></div>
    <noscript>The dashboard needs JavaScript.</noscript>
    <script src="assets/dashboard.js"></script>
  </body>
</html>
`;
