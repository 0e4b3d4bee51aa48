/** Reads big-endian bit fields. */
export class BitReader {
  private position = 0;

  constructor(private readonly bytes: Uint8Array) {}

  /** At most 32 bits. @throws RangeError beyond the end */
  read(bits: number): number {
    const value = this.peek(bits);
    this.advance(bits);
    return value;
  }

  peek(bits: number): number {
    let value = 0;
    for (let at = this.position; at < this.position + bits; at++) {
      const byte = this.bytes[at >> 3];
      if (byte === undefined) throw new RangeError('beyond the end');
      value = value * 2 + ((byte >> (7 - (at & 7))) & 1);
    }
    return value;
  }

  advance(bits: number): void {
    this.position += bits;
    if (this.position > this.bytes.length * 8) throw new RangeError('beyond the end');
  }

  align(): void {
    this.position = (this.position + 7) & ~7;
  }
}
