/** A new random key. `crypto.randomUUID` does not exist on pages without TLS, and a server in a private network may serve such pages. */
export const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );
