/** So much text is kept as one buffer: kept piece by piece, small ones would take several times what they hold. */
const BLOCK_LENGTH = 16 * 1024;

/** Text that comes in small pieces and is kept for a while, in their order. */
export class TextBuffer {
  /** UTF-8; each ends where a piece ended. */
  readonly blocks: Buffer[] = [];
  /** What came after them. */
  open = '';

  push(piece: string): void {
    this.open += piece;
    if (this.open.length < BLOCK_LENGTH) return;
    this.blocks.push(Buffer.from(this.open));
    this.open = '';
  }

  /** Takes the oldest away; null where nothing is left. */
  shift(): string | null {
    const block = this.blocks.shift();
    if (block !== undefined) return block.toString();
    if (this.open === '') return null;
    const text = this.open;
    this.open = '';
    return text;
  }
}
