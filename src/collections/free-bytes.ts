/** Shorter buffers may share their memory with others. */
const LONG_BYTES = 64 * 1024;

/**
 * Frees the memory of a long buffer at once. Without that it waits for a garbage collection, and V8 collects the whole heap after each 64 MB of
 * such memory: bodies and files of one caller would stop all callers' work again and again.
 * @param bytes nobody else may use its memory; it is empty afterwards. A short buffer stays as it is
 */
export function freeBytes({ length, buffer }: Uint8Array): void {
  if (length > LONG_BYTES && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
