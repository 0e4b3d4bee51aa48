/** Monaco's modules without types of their own. */
declare module 'monaco-editor/esm/vs/editor/browser/config/tabFocus.js' {
  export const TabFocus: { setTabFocusMode(moves: boolean): void };
}
declare module 'monaco-editor/esm/vs/editor/editor.worker.js';
declare module 'monaco-editor/esm/vs/language/json/json.worker.js';
declare module 'monaco-graphql/esm/graphql.worker.js';
