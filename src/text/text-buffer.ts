/** About this much text is kept in one buffer. Many small pieces would take several times their length. */
const BLOCK_LENGTH = 16 * 1024;

/** Keeps text that arrives in small pieces, in their order. */
export class TextBuffer {
  /** Buffers of UTF-8, each of which ends at the end of a piece. */
  readonly blocks: Buffer[] = [];
  /** Pieces that came after the last buffer. */
  open = '';

  push(piece: string): void {
    this.open += piece;
    if (this.open.length < BLOCK_LENGTH) return;
    this.blocks.push(Buffer.from(this.open));
    this.open = '';
  }

  /** Removes and returns the oldest text; null if there is none. */
  shift(): string | null {
    const block = this.blocks.shift();
    if (block !== undefined) return block.toString();
    if (this.open === '') return null;
    const text = this.open;
    this.open = '';
    return text;
  }
}
