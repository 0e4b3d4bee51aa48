import type { Transform } from 'node:stream';
import type { Dispatcher } from 'undici';
import { createDecoder, encodingOf, isEncoded, SIGNATURE_BYTES } from '../../egress/index.js';
import { Utf8Answer } from './charset.js';
import { brokenAnswer } from './upstream-errors.js';

type Headers = Record<string, string | string[] | undefined>;

const NONE = Buffer.alloc(0);

/**
 * Takes the encoding off an answer whose server compresses although the request forbids it (`accept-encoding: identity`), also if it does not say
 * so. All other answers pass as they come, empty ones too: those are empty in each encoding. Text is given on in UTF-8.
 */
export class DecodedAnswer implements Dispatcher.DispatchHandler {
  private encoding: string | null = null;
  /** Whether the first bytes decide on the encoding; they are held until there are enough of them. */
  private isUndecided = false;
  private held: Buffer = NONE;
  /** From the first byte of an encoded answer. */
  private decoder: Transform | null = null;
  /** Null for an answer that is no text. */
  private text: Utf8Answer | null = null;
  /** All bytes have come; the decoder may still be at work. */
  private received = false;
  /** Whether the inner handler was called with the end or an error. */
  private over = false;

  constructor(private readonly inner: Dispatcher.DispatchHandler) {}

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.inner.onRequestStart?.(controller, context);
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    const encoding = headers['content-encoding']?.toString();
    const contentType = headers['content-type']?.toString();
    if (isEncoded(encoding) && status >= 200) this.encoding = encoding;
    this.text = Utf8Answer.of(contentType);
    this.isUndecided = status >= 200 && (this.text !== null || contentType === undefined);
    this.inner.onResponseStart?.(controller, status, headers);
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.isUndecided) this.begin(controller, bytes);
    else if (this.encoding === null) this.give(controller, bytes);
    else if (!this.over) this.decoderOf(controller, this.encoding)?.write(bytes);
  }

  onResponseEnd(controller: Dispatcher.DispatchController, trailers: Headers): void {
    if (this.isUndecided && this.held.length > 0) this.decide(controller, this.held);
    this.received = true;
    if (this.decoder === null) this.finish(controller, trailers);
    else this.decoder.end();
  }

  private begin(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    const first = this.held.length === 0 ? bytes : Buffer.concat([this.held, bytes]);
    if (first.length < SIGNATURE_BYTES) this.held = first;
    else this.decide(controller, first);
  }

  private decide(controller: Dispatcher.DispatchController, first: Buffer): void {
    this.isUndecided = false;
    this.encoding = encodingOf(first.subarray(0, SIGNATURE_BYTES), this.encoding);
    this.onResponseData(controller, first);
  }

  private give(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    this.inner.onResponseData?.(controller, this.text?.take(bytes) ?? bytes);
  }

  private finish(controller: Dispatcher.DispatchController, trailers: Headers): void {
    const rest = this.text?.end();
    if (rest !== undefined && rest.length > 0) this.inner.onResponseData?.(controller, rest);
    this.inner.onResponseEnd?.(controller, trailers);
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
    decoder.on('data', (bytes: Buffer) => this.give(controller, bytes));
    decoder.on('end', () => {
      this.over = true;
      this.finish(controller, {});
      // Bytes after the compressed data would otherwise be read without end.
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
