import { isFields, typeOfEvent, WHOLE } from '../../providers/index.js';
import type { Tokens } from '../chat/usage.js';
import type { Fields } from '../dialects/checks.js';
import type { Round } from '../dialects/rounds.js';
import { DialectStream } from '../dialects/stream.js';
import type { StreamForm } from '../dialects/stream.js';
import type { StreamedRound } from '../dialects/turn.js';
import { MessageLog } from './events.js';
import { streamedRound } from './rounds.js';
import type { MessageEnd } from './rounds.js';
import { laterReport } from './usage.js';
import type { MessageWork } from './work.js';

/** The fields of an upstream's `message_start`, without the content. */
function begunBy({ native }: StreamedRound): Fields {
  for (const event of native?.early ?? []) {
    const isWhole = event.name === WHOLE;
    if (!isWhole && typeOfEvent(event) !== 'message_start') continue;
    try {
      const parsed = JSON.parse(event.data) as Fields;
      const message = isWhole ? parsed : parsed['message'];
      if (!isFields(message)) continue;
      const { content: _, usage, ...said } = message;
      const report = laterReport(null, usage);
      return { ...said, ...(report === null ? {} : { usage: { ...report, output_tokens: 0 } }) };
    } catch {
      // An unreadable event is treated as missing.
    }
  }
  return {};
}

class MessageForm implements StreamForm<MessageEnd> {
  readonly log = new MessageLog();

  constructor(readonly work: MessageWork) {}

  begin(first: StreamedRound): void {
    this.log.push({ type: 'message_start', message: this.work.begun(first.model, begunBy(first)) });
    if (first.native === null) this.log.push({ type: 'ping' });
  }

  roundOf(found: StreamedRound, deliver: (literal: string) => void): Round<MessageEnd> {
    const { work, log } = this;
    return streamedRound(found, { work, log, deliver });
  }

  async nextRound({ searches, added }: MessageEnd, cost: Tokens): Promise<void> {
    const results = await this.work.runSearches(searches, (block, index) => {
      this.log.pushUnknown({ type: 'content_block_start', index, content_block: block });
      this.log.push({ type: 'content_block_stop', index });
    });
    await this.work.nextRound(cost, added(), results);
  }

  writeFinalEvents({ ending }: MessageEnd, { tokens }: { tokens: Tokens }): void {
    const delta = { container: null, stop_details: null, ...ending };
    this.log.pushUnknown({ type: 'message_delta', delta, usage: this.work.usageOf(tokens) });
    this.log.push({ type: 'message_stop' });
  }

  save(): Promise<void> {
    return Promise.resolve();
  }

  breakOff(): Promise<void> {
    return Promise.resolve();
  }
}

/** Delivers a streamed message to its reader. */
export function streamMessage(work: MessageWork, first: StreamedRound): AsyncIterable<string> {
  return new DialectStream(new MessageForm(work), first);
}
