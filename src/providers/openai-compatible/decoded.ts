import type { Transform } from 'node:stream';
import type { Dispatcher } from 'undici';
import { createDecoder, isEncoded } from '../../egress/index.js';
import { brokenAnswer } from './upstream-errors.js';

type Headers = Record<string, string | string[] | undefined>;

/**
 * Takes the encoding off an answer whose server compresses although it was told not to (`accept-encoding: identity`). All other answers
 * pass as they come, empty ones too: those are empty in each encoding.
 */
export class DecodedAnswer implements Dispatcher.DispatchHandler {
  private encoding: string | null = null;
  /** From the first byte of an encoded answer. */
  private decoder: Transform | null = null;
  /** All bytes have come; the decoder may still be at work. */
  private received = false;
  /** The inner handler was told the end, one way or the other. */
  private over = false;

  constructor(private readonly inner: Dispatcher.DispatchHandler) {}

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.inner.onRequestStart?.(controller, context);
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    const encoding = headers['content-encoding']?.toString();
    if (isEncoded(encoding) && status >= 200) this.encoding = encoding;
    this.inner.onResponseStart?.(controller, status, headers);
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.encoding === null) this.inner.onResponseData?.(controller, bytes);
    else if (!this.over) this.decoderOf(controller, this.encoding)?.write(bytes);
  }

  onResponseEnd(controller: Dispatcher.DispatchController, trailers: Headers): void {
    this.received = true;
    if (this.decoder === null) this.inner.onResponseEnd?.(controller, trailers);
    else this.decoder.end();
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    if (this.over) return;
    this.over = true;
    this.decoder?.destroy();
    this.inner.onResponseError?.(controller, error);
  }

  private decoderOf(controller: Dispatcher.DispatchController, encoding: string): Transform | null {
    if (this.decoder !== null) return this.decoder;
    const decoder = createDecoder(encoding);
    if (decoder === null) {
      controller.abort(brokenAnswer('in an unknown encoding'));
      return null;
    }
    decoder.on('data', (bytes: Buffer) => this.inner.onResponseData?.(controller, bytes));
    decoder.on('end', () => {
      this.over = true;
      this.inner.onResponseEnd?.(controller, {});
      // What a server sends behind what it packed would be read for ever.
      if (!this.received) controller.abort(brokenAnswer('more than it packed'));
      decoder.destroy();
    });
    decoder.on('error', (error) => {
      this.onResponseError(controller, brokenAnswer('in a broken encoding', error));
      if (!controller.aborted) controller.abort(error);
    });
    this.decoder = decoder;
    return decoder;
  }
}
