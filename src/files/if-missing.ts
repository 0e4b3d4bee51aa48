/** For `catch`: returns `value` if the file does not exist, and rethrows every other error. */
export function ifMissing<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return value;
    throw error;
  };
}
