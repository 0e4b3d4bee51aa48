/** Text from outside, as `src/agents` marks it in a prompt. */
export interface UntrustedPart {
  source: string;
  text: string;
}

const OPEN = '<untrusted source="';
const AFTER_SOURCE = '">\n';
const CLOSE = '\n</untrusted>';

/** The marked parts of a text, and the text around them. Takes linear time for any text. */
export function splitUntrusted(text: string): { parts: UntrustedPart[]; rest: string } {
  const parts: UntrustedPart[] = [];
  const rest: string[] = [];
  let from = 0;
  for (let open = text.indexOf(OPEN); open !== -1; open = text.indexOf(OPEN, open + OPEN.length)) {
    if (open < from) continue;
    const sourceEnd = text.indexOf('"', open + OPEN.length);
    if (sourceEnd === -1 || !text.startsWith(AFTER_SOURCE, sourceEnd)) continue;
    const inside = sourceEnd + AFTER_SOURCE.length;
    const close = text.indexOf(CLOSE, inside);
    if (close === -1) break;
    parts.push({ source: text.slice(open + OPEN.length, sourceEnd), text: text.slice(inside, close) });
    rest.push(text.slice(from, open));
    from = close + CLOSE.length;
  }
  return { parts, rest: [...rest, text.slice(from)].join('') };
}
