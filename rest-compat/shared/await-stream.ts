/** Proxies close idle connections: after this time without a first token the headers are sent alone (decisions 6, "Chat"). */
const SILENT_MS = 10_000;
/** Before a call is admitted, an error still has its own status. */
const LOOK_MS = 500;

export interface OpenedStream {
  events: AsyncIterable<unknown>;
  /** The events have not begun; the headers are sent first. */
  isLate: boolean;
}

/**
 * Returns the stream when the work has begun it. If the call was admitted but nothing came for some time, returns a stream that still waits for
 * the work; later errors are then events of the stream.
 * @throws an error of the work before that
 */
export async function awaitStream(
  opening: Promise<AsyncIterable<unknown>>,
  call: { readonly admitted?: boolean },
): Promise<OpenedStream> {
  let timer: NodeJS.Timeout | undefined;
  const silent = new Promise<null>((resolve) => {
    const look = (): void => {
      if (call.admitted === true) resolve(null);
      else timer = setTimeout(look, LOOK_MS);
    };
    timer = setTimeout(look, SILENT_MS);
  });
  try {
    const events = await Promise.race([opening, silent]);
    return events === null ? { events: waiting(opening), isLate: true } : { events, isLate: false };
  } finally {
    clearTimeout(timer);
  }
}

async function* waiting(opening: Promise<AsyncIterable<unknown>>): AsyncGenerator<unknown> {
  yield* await opening;
}
