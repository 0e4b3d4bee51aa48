import { writeJson } from '../../text/write-json.js';
import { errorChunk } from '../convention/chunk.js';
import { isFaultName } from '../convention/faults.js';
import { mayTellUsage } from '../convention/usage.js';
import type { ChatChunks } from '../providers.types.js';
import { saysEnd } from './sse-parser.js';
import { StreamExchange } from './stream-exchange.js';
import type { StreamTransport } from './stream-exchange.js';
import { chunkOfAnswer, inPieces } from './whole-answer.js';

/** A streamed chat: its chunks as JSON texts. */
export class ChunkExchange extends StreamExchange<string> implements ChatChunks {
  /** The latest chunk. */
  private last = '';

  protected onEvent(given: string, name: string): void {
    const data = isFaultName(name) ? errorChunk(given) : given;
    if (saysEnd(data)) return this.end();
    if (this.isClosing && !mayTellUsage(data)) return;
    this.last = data;
    this.give(data);
  }

  protected async onWhole(bytes: Buffer, transport: StreamTransport): Promise<boolean> {
    const chunk = chunkOfAnswer(await transport.readAnswer(bytes));
    if (chunk === null) return false;
    for (const piece of inPieces(chunk)) this.give(String(await writeJson(piece, transport.turns)));
    return true;
  }

  /** Whoever told no usage yet may still do so behind the end. */
  private end(): void {
    if (mayTellUsage(this.last)) this.finish();
    else this.finishSoon();
  }
}
