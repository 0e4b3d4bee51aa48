import { isUtf8 } from 'node:buffer';
import { TextDecoder } from 'node:util';

/** Types whose bytes are text. */
const TEXT = /^\s*(?:text\/|application\/(?:[\w.-]+\+)?(?:x-)?(?:nd|l)?json)/i;
const CHARSET = /;\s*charset\s*=\s*"?([\w:.-]{1,40})/i;
const MARKS: Readonly<Record<string, string>> = { fffe: 'utf-16le', feff: 'utf-16be' };
const NONE = Buffer.alloc(0);

function decoderOf(label: string): TextDecoder | null {
  try {
    const decoder = new TextDecoder(label);
    return decoder.encoding === 'utf-8' ? null : decoder;
  } catch {
    return null;
  }
}

/** Where the last character begins if bytes of it are missing; else the length. */
function wholeLength(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) break;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 0;
    if (length > 0) return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

/**
 * Converts an answer to UTF-8 from the charset that its type names, or from UTF-16 where it begins with that mark. Many servers name ISO-8859-1
 * and send UTF-8: what is UTF-8 stays as it is.
 */
export class Utf8Answer {
  private decoder: TextDecoder | null = null;
  /** The first bytes of a character whose others have not come yet. */
  private held: Buffer = NONE;
  private begun = false;

  private constructor(private readonly declared: TextDecoder | null) {}

  /** Null for a type that is not text. */
  static of(contentType: string | undefined): Utf8Answer | null {
    if (contentType === undefined || !TEXT.test(contentType)) return null;
    const label = CHARSET.exec(contentType)?.[1];
    return new Utf8Answer(label === undefined ? null : decoderOf(label));
  }

  take(bytes: Buffer): Buffer {
    if (!this.begun) this.begin(bytes);
    if (this.decoder !== null) return Buffer.from(this.decoder.decode(bytes, { stream: true }));
    if (this.declared === null) return bytes;
    const all = this.held.length === 0 ? bytes : Buffer.concat([this.held, bytes]);
    const whole = wholeLength(all);
    this.held = NONE;
    if (isUtf8(all.subarray(0, whole))) {
      this.held = all.subarray(whole);
      return all.subarray(0, whole);
    }
    this.decoder = this.declared;
    return Buffer.from(this.decoder.decode(all, { stream: true }));
  }

  /** What is left at the answer's end. */
  end(): Buffer {
    const decoder = this.decoder ?? this.declared;
    return decoder === null ? NONE : Buffer.from(decoder.decode(this.held));
  }

  private begin(bytes: Buffer): void {
    this.begun = true;
    const marked = MARKS[bytes.toString('hex', 0, 2)];
    if (marked !== undefined) this.decoder = new TextDecoder(marked);
    else if (this.declared?.encoding.startsWith('utf-16') === true) this.decoder = this.declared;
  }
}
