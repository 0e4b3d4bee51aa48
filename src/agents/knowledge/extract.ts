import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { ExtractedText } from '../agents.types.js';
import type { FileKind } from './file-kind.js';
import { busy, lowerPriority, watchCpu } from '../../processes/index.js';

/** Both stay under what trust 2 allows a hostile file (60 s, 512 MB), with room for the start and the end. */
const TIME_LIMIT_MS = 55_000;
/** Callers wait while inputs are read: at most 30 s in all (decisions 1). */
const GIVEN_TIME_LIMIT_MS = 25_000;
const MEMORY_LIMIT_BYTES = 440 * 1024 * 1024;
const HEAP_MB = 256;
const LOOK_MS = 50;
const MAX_OUTPUT = 128 * 1024 * 1024;
/** Characters of the passages that are stored in one statement: some hundred milliseconds of PostgreSQL's time. */
const PART = 1024 * 1024;
const LINE_END = 0x0a;
const MAX_REASON = 200;

/** The text of a file cannot be extracted. The message is for the file's owner. */
export class ExtractionError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ExtractionError';
  }
}

/** Beside the bundle; under the tests, which run the sources, in the repository's build. */
function entry(): string {
  const path = import.meta.url.endsWith('.ts') ? '../../../dist/extract.child.js' : './extract.child.js';
  return fileURLToPath(new URL(path, import.meta.url));
}

/** Resident memory in bytes; null if the system does not report it (then only the heap limit applies). */
async function residentBytes(pid: number): Promise<number | null> {
  const line = await readFile(`/proc/${pid}/statm`, 'utf8').catch(() => null);
  const pages = line?.split(' ')[1];
  return pages === undefined ? null : Number(pages) * 4096;
}

/** Kills the process when it takes too long (`until`, by the process's clock) or too much, and says why. */
function guard(child: ChildProcess, until: number, stop: (reason: Error) => void): () => void {
  const lacksCpu = watchCpu(child.pid);
  const late = () => stop(lacksCpu() ? busy() : new ExtractionError('The file takes too long to read'));
  const timer = setTimeout(late, until - performance.now());
  const look = setInterval(() => {
    void residentBytes(child.pid ?? 0).then((bytes) => {
      if (bytes !== null && bytes > MEMORY_LIMIT_BYTES)
        stop(new ExtractionError('The file needs too much memory to read'));
    });
  }, LOOK_MS);
  return () => {
    clearTimeout(timer);
    clearInterval(look);
  };
}

/** A document and the signal that cancels its reading. */
export interface Document {
  bytes: Buffer;
  kind: FileKind;
  signal: AbortSignal;
}

/**
 * A document's passages with their vectors, in parts as knowledge.queries.ts stores them: JSON that is passed on without being parsed, because it may be long.
 * @throws ExtractionError; ApiError unavailable if the machine is too busy to read it in time
 */
export async function extractPassages(document: Document): Promise<Iterable<Buffer>> {
  const output = await readIn(document, ['passages', String(PART)], TIME_LIMIT_MS);
  return { [Symbol.iterator]: () => linesOf(output) };
}

/** The lines of a chunked output; each is joined when it is requested. */
function* linesOf(pieces: readonly Buffer[]): Generator<Buffer, void> {
  let line: Buffer[] = [];
  for (const piece of pieces) {
    let from = 0;
    for (let end = piece.indexOf(LINE_END); end !== -1; end = piece.indexOf(LINE_END, from)) {
      yield Buffer.concat([...line, piece.subarray(from, end)]);
      line = [];
      from = end + 1;
    }
    line.push(piece.subarray(from));
  }
}

/** The beginning of a document's text. @throws ExtractionError; ApiError unavailable if the machine is too busy to read it in time */
export async function extractText(document: Document, maxCharacters: number): Promise<ExtractedText> {
  const output = await readIn(document, ['text', String(maxCharacters)], GIVEN_TIME_LIMIT_MS);
  return JSON.parse(Buffer.concat(output).toString('utf8')) as ExtractedText;
}

/**
 * Reads in a process of its own with bounded time and memory. Whoever kills that process (the system, short of memory; an operator) says
 * nothing about the document, so another one reads it; a document that ends two cannot be read.
 */
async function readIn(document: Document, wanted: string[], timeLimitMs: number): Promise<Buffer[]> {
  const attempt = { ...document, wanted, until: performance.now() + timeLimitMs };
  const output = (await readOnce(attempt)) ?? (await readOnce(attempt));
  if (output === null) throw new ExtractionError('The file cannot be read');
  return output;
}

interface Attempt extends Document {
  wanted: string[];
  until: number;
}

/** @returns null: the process was killed, and not by this one */
async function readOnce({ bytes, kind, signal, wanted, until }: Attempt): Promise<Buffer[] | null> {
  signal.throwIfAborted();
  const child = spawn(process.execPath, [`--max-old-space-size=${HEAP_MB}`, entry(), kind, ...wanted], {
    stdio: ['pipe', 'pipe', 'ignore', 'ipc'],
    // As all children of our own: Ctrl-C in the terminal is for the parent.
    detached: true,
    env: {},
  });
  lowerPriority(child.pid);
  let reason: Error | null = null;
  const stop = (why: Error): void => {
    reason ??= why;
    child.kill('SIGKILL');
  };
  const release = guard(child, until, stop);
  const aborted = (): void => stop(new ExtractionError('Aborted'));
  signal.addEventListener('abort', aborted, { once: true });
  try {
    const output = await outputOf(child, bytes, stop);
    if (reason !== null) throw reason;
    if (child.signalCode !== null) return null;
    if (child.exitCode === 0) return output;
    throw new ExtractionError(lastWords(output) || 'The file cannot be read');
  } finally {
    release();
    signal.removeEventListener('abort', aborted);
  }
}

/** Why a reader stopped: the last line of its output. */
function lastWords(output: readonly Buffer[]): string {
  const end = Buffer.concat(output.slice(-2)).toString('utf8');
  return end.slice(end.lastIndexOf('\n') + 1).slice(0, MAX_REASON);
}

function outputOf(child: ChildProcess, bytes: Buffer, stop: (reason: Error) => void): Promise<Buffer[]> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let size = 0;
    child.stdout?.on('data', (part: Buffer) => {
      size += part.length;
      if (size > MAX_OUTPUT) stop(new ExtractionError('The file has too much text'));
      else parts.push(part);
    });
    child.on('error', reject);
    child.on('close', () => resolve(parts));
    // A process that ended early closes its input; the reason is in its output.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(bytes);
  });
}
