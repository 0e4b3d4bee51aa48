import type * as Codecs from 'node-webcodecs';

let loaded: Promise<typeof Codecs | null> | undefined;

async function load(): Promise<typeof Codecs | null> {
  try {
    const codecs = await import('node-webcodecs');
    // Mediabunny looks for decoders in the globals that browsers have.
    await import('node-webcodecs/register');
    return codecs;
  } catch (error) {
    // The package is optional: it may be missing, or have no binary for this machine.
    if (error instanceof Error) return null;
    throw error;
  }
}

/** The optional codec package, once in a process; null where it is missing. */
export function loadCodecs(): Promise<typeof Codecs | null> {
  return (loaded ??= load());
}
