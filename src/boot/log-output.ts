import { destination } from 'pino';

/** A line waits at most this long. */
const FLUSH_MS = 200;
/** Characters that are written without waiting. */
const FLUSH_LENGTH = 64 * 1024;

/** At most this many characters are buffered while nobody reads standard output; further lines are dropped. */
const UNREAD_LENGTH = 16 * 2 ** 20;
/** Time for the last flush; where standard output is a file on a busy disk it can take long. */
const LAST_LINES_MS = 5_000;

/** Where log lines go: the process's standard output. */
export interface LogOutput {
  write(line: string): void;
  /**
   * Writes the remaining lines, then calls back; at once if standard output is closed. If the reader takes nothing for five seconds, a thread is
   * blocked in the write, and `process.exit` would wait for that thread; so the process kills itself.
   */
  end(exit: () => void): void;
}

/**
 * Buffers log lines for a moment, so that a busy process does not write line by line. Nothing is lost at the end of the process. The timer starts
 * with a line, so an idle process does not wake up. Lines are joined here, because the stream below measures its whole buffer with every write.
 */
export function createLogOutput(): LogOutput {
  // With `minLength` 0 a flush would call back before the write is done.
  const output = destination({ dest: 1, sync: false, minLength: 1, maxLength: UNREAD_LENGTH });
  // A full disk must not end the service: lines that could not be written are written again with the next ones. pino would throw the error, and
  // at the exit it would retry for ever.
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
    // Not `flushSync`: on a pipe that nobody reads it retries for ever.
    end(exit) {
      flush();
      setTimeout(() => process.kill(process.pid, 'SIGKILL'), LAST_LINES_MS);
      output.flush(exit);
    },
  };
}
