/** Types for the used part of the package, which has none. pdfkit reads its fonts with it too. */
declare module 'fontkit' {
  /** A font of a file; `characterSet` is what its cmap maps. */
  export function openSync(path: string): { characterSet: number[] };
}
