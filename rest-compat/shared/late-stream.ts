/** Proxies cut connections that stay silent: after so long without a first token the head goes out alone (decisions 6, "Chat"). */
const SILENT_MS = 10_000;
/** Until a call is admitted its refusal is a status of its own. */
const LOOK_MS = 500;

export interface OpenedStream {
  events: AsyncIterable<unknown>;
  /** The events have not begun: the head is to go out before them. */
  isLate: boolean;
}

/**
 * A stream as soon as its work began it, or, where the call was admitted and nothing came for long, one that still waits for it: what fails
 * from then on fails in the stream.
 * @throws what the work throws until then
 */
export async function opened(
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
