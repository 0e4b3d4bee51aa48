import { SseParser } from '../openai-compatible/sse-parser.js';

/** Whether an event's data says anything: an object with members, or that the stream ends. */
function saysSomething(data: string): boolean {
  const text = data.trim();
  return text === '[DONE]' || (text.startsWith('{') && !/^\{\s*\}$/.test(text));
}

function eventOf(data: string, name: string): string {
  const head = name === '' ? '' : `event: ${name}\n`;
  return `${head}${data
    .split('\n')
    .map((line) => `data: ${line}\n`)
    .join('')}\n`;
}

/** Takes events that say nothing out of event streams: makers' packages fail at them, some already at the first. */
export function withoutSilentEvents(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const answer = await fetch(input, init);
    const { body, ok, status, statusText, headers } = answer;
    if (body === null || !ok || !(headers.get('content-type') ?? '').includes('event-stream')) return answer;
    let said = '';
    const parser = new SseParser((data, name) => {
      if (saysSomething(data)) said += eventOf(data, name);
    });
    const encoder = new TextEncoder();
    const tell = (controller: TransformStreamDefaultController<Uint8Array>): void => {
      if (said !== '') controller.enqueue(encoder.encode(said));
      said = '';
    };
    const filter = new TransformStream<Uint8Array, Uint8Array>({
      transform(bytes, controller) {
        parser.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
        tell(controller);
      },
      flush(controller) {
        parser.end();
        tell(controller);
      },
    });
    return new Response(body.pipeThrough(filter), { status, statusText, headers });
  };
}
