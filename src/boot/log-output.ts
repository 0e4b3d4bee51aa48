import { destination } from 'pino';

/** Longest that a line waits. */
const FLUSH_MS = 200;
/** Characters that are written without waiting. */
const FLUSH_LENGTH = 64 * 1024;

/** Characters that wait for a reader who takes nothing; further lines are dropped. */
const UNREAD_LENGTH = 16 * 2 ** 20;
/** The last flush reaches the disk where standard output is a file: a busy one takes its time. */
const LAST_LINES_MS = 5_000;

/** Where log lines go: the process's standard output. */
export interface LogOutput {
  write(line: string): void;
  /**
   * Writes what is left, then calls back: at once where standard output is gone, there is nobody to tell. Where its reader takes nothing
   * for five seconds, a thread is stuck in the write and `process.exit` would wait for that thread: the process is killed.
   */
  end(exit: () => void): void;
}

/**
 * Gathers log lines for a moment, so that a busy process does not write line by line; nothing is lost at its end. The moment begins with
 * a line: nothing wakes up while nothing is said. Lines are joined once, here: the stream below measures all that it holds with every line.
 */
export function createLogOutput(): LogOutput {
  // With `minLength` 0 a flush would call back before the write is done.
  const output = destination({ dest: 1, sync: false, minLength: 1, maxLength: UNREAD_LENGTH });
  // A full disk under the log ends no service: what could not be written is tried again with the next lines. pino would throw it, and at
  // the exit try to write for ever.
  output.on('error', () => {
    output.flushSync = () => undefined;
  });
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
    // Not by `flushSync`: on a pipe without a reader it tries again for ever.
    end(exit) {
      flush();
      setTimeout(() => process.kill(process.pid, 'SIGKILL'), LAST_LINES_MS);
      output.flush(exit);
    },
  };
}
