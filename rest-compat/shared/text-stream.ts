import { rateFor, setRate, untilDrained } from '../../src/http/index.js';
import { documentOf } from './mount.js';
import { bindOrRefuse } from './request.js';
import type { Streaming } from './streams.js';

/** A source event of a row that answers with text. */
interface Piece {
  text: string;
}

/**
 * Answers with the texts of a subscription's source events, one after the other, as fast as the client reads. A failure before the
 * first text is a normal error; a later one breaks the connection, so that nobody mistakes a part for the whole.
 */
export async function streamText({ options, rest, response }: Streaming): Promise<void> {
  const { route } = rest.endpoint;
  const values = await bindOrRefuse(options, rest);
  const events = await documentOf(rest.endpoint).subscribe(values, rest.context);
  const iterator = (events as AsyncIterable<Piece>)[Symbol.asyncIterator]();
  let next = await iterator.next();
  setRate(response, await rateFor(options.edge, rest.call));
  response.writeHead(200, { 'cache-control': 'no-store', ...route.textHeaders?.(values) });
  try {
    for (; next.done !== true && !response.destroyed; next = await iterator.next())
      if (!response.write(next.value.text)) await untilDrained(response);
    response.end();
  } finally {
    await iterator.return?.();
  }
}
