import type * as Codecs from 'node-webcodecs';

let loaded: Promise<typeof Codecs | null> | undefined;

async function load(): Promise<typeof Codecs | null> {
  try {
    const codecs = await import('node-webcodecs');
    // Mediabunny finds decoders where browsers have them.
    await import('node-webcodecs/register');
    return codecs;
  } catch (error) {
    // Not installed, or no binary for this machine: an optional package, so both are ordinary.
    if (error instanceof Error) return null;
    throw error;
  }
}

/** The optional codec package, once in a process; null where it is missing. */
export function loadCodecs(): Promise<typeof Codecs | null> {
  return (loaded ??= load());
}
