import type { Transform } from 'node:stream';
import type { Dispatcher } from 'undici';
import { createDecoder, isEncoded } from '../../egress/index.js';
import { brokenAnswer } from './upstream-errors.js';

type Headers = Record<string, string | string[] | undefined>;

/**
 * Takes the encoding off an answer whose server compresses although it was told not to (`accept-encoding: identity`). All other answers
 * pass as they come.
 */
export class DecodedAnswer implements Dispatcher.DispatchHandler {
  private decoder: Transform | null = null;

  constructor(private readonly inner: Dispatcher.DispatchHandler) {}

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.inner.onRequestStart?.(controller, context);
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    const encoding = headers['content-encoding'];
    if (encoding !== undefined && status >= 200) this.decode(controller, String(encoding));
    this.inner.onResponseStart?.(controller, status, headers);
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.decoder === null) this.inner.onResponseData?.(controller, bytes);
    else this.decoder.write(bytes);
  }

  onResponseEnd(controller: Dispatcher.DispatchController, trailers: Headers): void {
    if (this.decoder === null) this.inner.onResponseEnd?.(controller, trailers);
    else this.decoder.end();
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    this.decoder?.destroy();
    this.inner.onResponseError?.(controller, error);
  }

  private decode(controller: Dispatcher.DispatchController, encoding: string): void {
    if (!isEncoded(encoding)) return;
    const decoder = createDecoder(encoding);
    if (decoder === null) return controller.abort(brokenAnswer('in an unknown encoding'));
    this.decoder = decoder;
    decoder.on('data', (bytes: Buffer) => this.inner.onResponseData?.(controller, bytes));
    decoder.on('end', () => this.inner.onResponseEnd?.(controller, {}));
    decoder.on('error', (error) => {
      this.inner.onResponseError?.(controller, brokenAnswer('in a broken encoding', error));
      if (!controller.aborted) controller.abort(error);
    });
  }
}
