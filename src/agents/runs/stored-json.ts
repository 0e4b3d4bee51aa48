/**
 * JSON that PostgreSQL takes whatever a model or a page said: NUL characters are left out, lone surrogates replaced. Works on the text, so
 * that keys are covered as well: JSON.stringify writes both as escapes, and a pair of backslashes is none of them.
 */
export function storedJson(value: unknown): string {
  return JSON.stringify(value).replace(/\\(\\|u0000|ud[89a-f][0-9a-f]{2})/g, (whole, escape: string) => {
    if (escape === '\\') return whole;
    return escape === 'u0000' ? '' : '\\ufffd';
  });
}
