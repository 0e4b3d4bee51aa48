const LAST_EVENT = new TextEncoder().encode('\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n');

/**
 * Closes Anthropic's streams with their last event where the connection ended without it. Its package says how an answer ended only with
 * that event, although the maker tells it in the one before: an answer whose reason was told is whole, and one without stays cut off.
 */
export function withEndedStreams(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const answer = await fetch(input, init);
    const { body, ok, status, statusText, headers } = answer;
    if (body === null || !ok || !(headers.get('content-type') ?? '').includes('event-stream')) return answer;
    // A second one changes nothing: nobody reads on behind the first.
    const closing = new TransformStream<Uint8Array, Uint8Array>({
      flush: (controller) => controller.enqueue(LAST_EVENT),
    });
    return new Response(body.pipeThrough(closing), { status, statusText, headers });
  };
}
