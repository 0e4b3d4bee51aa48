import type { EventStreamCodec } from '@smithy/eventstream-codec';
import type { Dispatcher } from 'undici';
import type { NativeCall } from '../dialect.types.js';
import type { DialectConnection } from '../openai-compatible/dialect-upstream.js';
import { brokenAnswer } from '../openai-compatible/upstream-errors.js';
import type { UpstreamSettings } from '../upstream-settings.types.js';
import { wholeMessages } from './amazon-messages.js';

const VERSION = 'bedrock-2023-05-31';

/** What of its maker's betas is taken there: any other ends a request. */
const BETAS =
  /^(?:computer-use|token-efficient-tools|interleaved-thinking|output-128k|dev-full-thinking|context-1m|context-management|effort|tool-search-tool|tool-examples)-\d{4}-\d{2}-\d{2}$/;

function bodyOf({ body, headers = {} }: NativeCall): string {
  const { model: _, stream: _s, ...fields } = body;
  const betas = (headers['anthropic-beta'] ?? '').split(',').filter((beta) => BETAS.test(beta));
  return JSON.stringify({
    ...fields,
    anthropic_version: VERSION,
    ...(betas.length === 0 ? {} : { anthropic_beta: betas }),
  });
}

async function signed(url: string, body: string, aws: NonNullable<UpstreamSettings['aws']>) {
  const { AwsV4Signer } = await import('aws4fetch');
  const { region, accessKeyId, secretAccessKey, sessionToken } = aws;
  const signer = new AwsV4Signer({
    url,
    method: 'POST',
    body,
    region,
    accessKeyId,
    secretAccessKey,
    ...(sessionToken === undefined ? {} : { sessionToken }),
    service: 'bedrock',
  });
  const { headers } = await signer.sign();
  headers.delete('host');
  return Object.fromEntries(headers);
}

async function createCodec(): Promise<EventStreamCodec> {
  const { EventStreamCodec: Codec } = await import('@smithy/eventstream-codec');
  const toUtf8 = (bytes: Uint8Array | string): string => Buffer.from(bytes as Uint8Array).toString('utf8');
  return new Codec(toUtf8, (text) => Buffer.from(text, 'utf8'));
}

/** Claude at Bedrock in its maker's own form (InvokeModel), which passes all that its Converse API has no word for. */
export function bedrockClaude({ baseUrl, apiKey = '', aws }: UpstreamSettings): DialectConnection {
  let codec: EventStreamCodec | null = null;
  return {
    speaks: (modelId) => modelId.includes('anthropic.claude'),
    async request(call, streams) {
      codec ??= await createCodec();
      const body = bodyOf(call);
      const does = streams ? 'invoke-with-response-stream' : 'invoke';
      const path = `/model/${encodeURIComponent(String(call.body['model']))}/${does}`;
      // Without AWS credentials the key is Bedrock's own API key.
      const headers =
        aws === undefined ? { authorization: `Bearer ${apiKey}` } : await signed(baseUrl + path, body, aws);
      return { path, body, headers };
    },
    reading(handler) {
      if (codec === null) throw new Error('nothing was asked');
      return new ClaudeMessages(handler, codec);
    },
  };
}

/** The messages of an Amazon event stream as the convention's events. */
class ClaudeMessages implements Dispatcher.DispatchHandler {
  private pending: Buffer = Buffer.alloc(0);
  private isOk = false;

  constructor(
    private readonly inner: Dispatcher.DispatchHandler,
    private readonly codec: EventStreamCodec,
  ) {}

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.inner.onRequestStart?.(controller, context);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.isOk = status >= 200 && status < 300 && /eventstream/.test(String(headers['content-type']));
    this.inner.onResponseStart?.(controller, status, headers);
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (!this.isOk) return this.inner.onResponseData?.(controller, bytes);
    let text = '';
    try {
      const { messages, rest } = wholeMessages(Buffer.concat([this.pending, bytes]));
      this.pending = rest;
      for (const message of messages) text += this.eventOf(message);
    } catch (error) {
      controller.abort(brokenAnswer('a broken message', error));
      return;
    }
    if (text !== '') this.inner.onResponseData?.(controller, Buffer.from(text));
  }

  onResponseEnd(
    controller: Dispatcher.DispatchController,
    trailers: Record<string, string | string[] | undefined>,
  ): void {
    this.inner.onResponseEnd?.(controller, trailers);
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    this.inner.onResponseError?.(controller, error);
  }

  private eventOf(message: Buffer): string {
    const { headers, body } = this.codec.decode(message);
    const said = Buffer.from(body).toString('utf8');
    if (headers[':message-type']?.value !== 'event') {
      const type = headers[':exception-type']?.value ?? 'error';
      return `event: error\ndata: ${JSON.stringify({ type: 'error', error: { type } })}\n\n`;
    }
    const { bytes } = JSON.parse(said) as { bytes?: string };
    return bytes === undefined ? '' : `data: ${Buffer.from(bytes, 'base64').toString('utf8')}\n\n`;
  }
}
