import { isLongToRead } from '../../text/read-json.js';
import { writeJson } from '../../text/write-json.js';
import { errorChunk, readLongChunk } from '../convention/chunk.js';
import { isFaultName } from '../convention/faults.js';
import { mayContainUsage } from '../convention/usage.js';
import type { ChatChunks } from '../providers.types.js';
import { isEndMarker } from './event-texts.js';
import { StreamExchange } from './stream-exchange.js';
import type { StreamTransport } from './stream-exchange.js';
import { chunkOfAnswer, inPieces, isCuttable } from './whole-answer.js';

/** A streamed chat: its chunks as JSON texts. */
export class ChunkExchange extends StreamExchange<string> implements ChatChunks {
  /** The latest chunk. */
  private last = '';
  /** A chunk of megabytes came: each is given in pieces from then on. */
  private isLong = false;
  /** Of such a chunk, what its reader did not have yet. */
  private pieces: Iterator<object, void> | null = null;

  override next(): Promise<string | null> {
    return this.isLong ? this.nextPiece() : super.next();
  }

  protected onEvent(given: string, name: string): void {
    const data = isFaultName(name) ? errorChunk(given) : given;
    if (isEndMarker(data)) return this.end();
    if (this.isClosing && !mayContainUsage(data)) return;
    this.last = data;
    this.isLong ||= isLongToRead(data);
    this.give(data);
  }

  /** Nobody waits while all of a long chunk is read, counted and written. */
  private async nextPiece(): Promise<string | null> {
    const transport = this.transport as StreamTransport;
    const piece = this.pieces?.next();
    if (piece !== undefined && piece.done !== true) {
      await transport.timeSlicer.run(() => true);
      return String(await writeJson(piece.value, transport.timeSlicer));
    }
    this.pieces = null;
    const raw = await super.next();
    if (raw === null || !isLongToRead(raw)) return raw;
    const chunk = await readLongChunk(Buffer.from(raw), transport.timeSlicer);
    if (!isCuttable(chunk)) return raw;
    this.pieces = inPieces(chunk);
    return await this.nextPiece();
  }

  protected async onWhole(bytes: Buffer, transport: StreamTransport): Promise<boolean> {
    const chunk = chunkOfAnswer(await readLongChunk(bytes, transport.timeSlicer));
    if (chunk === null) return false;
    for (const piece of inPieces(chunk)) {
      this.give(String(await writeJson(piece, transport.timeSlicer)));
      // Each piece is read, counted and sent on before the next.
      await transport.timeSlicer.run(() => true);
    }
    return true;
  }

  /** An upstream that reported no usage yet may still do so after the end. */
  private end(): void {
    if (mayContainUsage(this.last)) this.finish();
    else this.finishSoon();
  }
}
