import { errorChunk } from '../convention/chunk.js';
import type { ChatChunks } from '../providers.types.js';
import { StreamExchange } from './stream-exchange.js';
import { chunkOfAnswer } from './whole-answer.js';

/** A streamed chat: its chunks as JSON texts. */
export class ChunkExchange extends StreamExchange<string> implements ChatChunks {
  protected onEvent(given: string, name: string): void {
    const data = name === 'error' ? errorChunk(given) : given;
    if (data.trim() === '[DONE]') this.finish();
    else this.give(data);
  }

  protected onWhole(text: string): boolean {
    const chunk = chunkOfAnswer(text);
    if (chunk === null) return false;
    this.give(chunk);
    return true;
  }
}
