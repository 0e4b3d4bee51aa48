const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 5_000;

/** Whether the server answers. It may be there without a file, because a newer version has replaced it. */
const isServing = (): Promise<boolean> =>
  fetch('', { method: 'HEAD', cache: 'no-store' }).then(
    ({ ok }) => ok,
    () => false,
  );

/** Resolves after the time, or as soon as the computer has a network again. */
const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    const go = (): void => {
      clearTimeout(timer);
      window.removeEventListener('online', go);
      resolve();
    };
    const timer = setTimeout(go, ms);
    window.addEventListener('online', go);
  });

/**
 * Loads a further file of the page. While the server is away this waits: if the page were loaded again, as the router does, the browser would show its
 * own error page instead. @returns a function that rejects if the server is there without the file
 */
export const part =
  <Part>(load: () => Promise<Part>) =>
  async (): Promise<Part> => {
    for (let tries = 0; ; tries++) {
      const isThere = tries === 0 ? false : await isServing();
      try {
        return await load();
      } catch (error) {
        if (isThere) throw error;
        if (tries > 0) await pause(Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** tries));
      }
    }
  };
