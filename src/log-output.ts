import { destination } from 'pino';

/** Longest that a line waits. */
const FLUSH_MS = 200;
/** Characters that are written without waiting. */
const FLUSH_LENGTH = 64 * 1024;

/** Where log lines go: the process's standard output. */
export interface LogOutput {
  write(line: string): void;
  /** Writes what is left. Does not throw where standard output is gone: there is nobody to tell. */
  end(): void;
}

/**
 * Gathers log lines for a moment, so that a busy process does not write line by line; nothing is lost at its end. The moment begins with
 * a line: nothing wakes up while nothing is said. Lines are joined once, here: the stream below measures all that it holds with every line.
 */
export function createLogOutput(): LogOutput {
  const output = destination({ dest: 1, sync: false });
  let lines: string[] = [];
  let length = 0;
  let flushing: NodeJS.Timeout | null = null;
  const flush = (): void => {
    if (flushing !== null) clearTimeout(flushing);
    flushing = null;
    if (lines.length === 0) return;
    const text = lines.join('');
    lines = [];
    length = 0;
    try {
      output.write(text);
    } catch {
      // Standard output is gone.
    }
  };
  return {
    write(line) {
      lines.push(line);
      length += line.length;
      if (length >= FLUSH_LENGTH) flush();
      else flushing ??= setTimeout(flush, FLUSH_MS).unref();
    },
    end() {
      flush();
      try {
        output.flushSync();
      } catch {
        // Never ready, or gone.
      }
    },
  };
}
