/**
 * What no error body ever holds (decisions 1), whoever wrote it: stack traces, SQL and file paths. The patterns take linear time, and their
 * texts are bounded by who asks.
 */

/** Frames and heads of stack traces, as runtimes write them. */
const TRACES: readonly RegExp[] = [
  /traceback|\bstack ?trace:|\bbacktrace:/i,
  // Python.
  /\bFile \\?["'][^"']*["'], line \d/,
  // JavaScript and Java: `at f (file.js:1:2)`, `at a.b.C(File.java:1)`, `at file.js:1:2`.
  /\bat [^()]{1,120}\((?:native|unknown source|<anonymous>|node:|[^()\s]{0,300}\.[a-z]\w{0,9}:\d)/i,
  /\bat (?:async )?(?:file:|node:|<anonymous>|[^\s:/\\]*[/\\])\S*:\d+:\d/i,
  /\bcaused by: [\w.$]+(?:exception|error)/i,
  // Go, Rust, .NET, Ruby, PHP.
  /\bgoroutine \d|\.go:\d+ \+0x|\bpanicked at |\S:line \d|:\d+:in [`']|#\d+ \S+\.php\(/i,
];

/** Words that stand in this order in statements of SQL, and hardly in a sentence. */
const STATEMENTS: readonly (readonly RegExp[])[] = [
  [/\bSELECT\b/, /\bFROM\b/],
  [/\bselect \*/i],
  [/\bselect\b/i, /\bfrom\b/i, /\b(?:where|join|limit|(?:order|group) by)\b/i],
  // Names as tables have them, quoted or of several words.
  [/\bselect\b/i, /\bfrom (?:["`]|[a-z0-9]*(?:_|\.\w))/i],
  [/\b(?:insert into|delete from|(?:create|alter|drop|truncate) table)\b/i],
  [/\bUPDATE\b/, /\bSET\b/],
  [/\bupdate \S+ set \S+ ?=/i],
];

function holdsInOrder(text: string, words: readonly RegExp[]): boolean {
  let rest = text;
  return words.every((word) => {
    const at = rest.search(word);
    rest = rest.slice(at + 1);
    return at >= 0;
  });
}

/** Whether a text contains a stack trace or SQL: little of such a text may be shown to callers. */
export function holdsTraceOrSql(text: string): boolean {
  // Line breaks may have been escaped once more on their way.
  const line = text.replace(/\\[nrt]/g, ' ').replace(/\s+/g, ' ');
  return TRACES.some((trace) => trace.test(line)) || STATEMENTS.some((words) => holdsInOrder(line, words));
}

const PATHS: readonly RegExp[] = [
  // From the root or a home, also behind an escaped line break: two names, or one with an ending. `a/b` begins otherwise, `/^[a-z]+$/` goes on so.
  /(?:(?<![\p{L}\p{N}_])|(?<=\\[nrt]))\/[^\s/\\^$*?|()[\]{}]+(?:\/|\.[a-z])/iu,
  // Of Windows, on a drive or in a network.
  /(?<![a-z0-9])[a-z]:[\\/]|\\\\[\w.-]+\\\w/i,
  // From anywhere, where it ends as source code and configuration do: `engine/core.py`. Names of models have other endings.
  /[\\/][^\\/]*\.(?:py[cdx]?|[cm]?[jt]sx?|go|rs|java|kt|scala|rb|php|cs|cc|cpp|cu|h|hpp|so|dll|exe|sh|json|ya?ml|toml|ini|cfg|conf|env|log|sql|db|pem|txt)(?!\w)/i,
];

/** A text without its file paths: each is replaced with all that is written to it without a blank. */
export function redactPaths(text: string): string {
  return text.replace(/[^\s"'`<>]+/g, (word) => (PATHS.some((path) => path.test(word)) ? '[removed]' : word));
}
