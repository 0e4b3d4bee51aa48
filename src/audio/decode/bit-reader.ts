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

  /** The same as a number with a sign, its first bit. */
  signed(bits: number): number {
    return (this.read(bits) << (32 - bits)) >> (32 - bits);
  }

  /** Bits beyond the end are zeros, because a code is looked up by more bits than the last code has. */
  peek(bits: number): number {
    let value = 0;
    for (let at = this.position, left = bits; left > 0;) {
      const room = 8 - (at & 7);
      const taken = Math.min(room, left);
      const byte = this.bytes[at >> 3] ?? 0;
      value = value * 2 ** taken + ((byte >> (room - taken)) & (2 ** taken - 1));
      at += taken;
      left -= taken;
    }
    return value;
  }

  /** @throws RangeError beyond the end */
  advance(bits: number): void {
    this.position += bits;
    if (this.position > this.bytes.length * 8) throw new RangeError('beyond the end');
  }

  align(): void {
    this.position = (this.position + 7) & ~7;
  }

  /** Another reader, from here on. */
  fork(): BitReader {
    const other = new BitReader(this.bytes);
    other.position = this.position;
    return other;
  }
}
