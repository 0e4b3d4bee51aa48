/** One request's interest in a key, from its question to the end of what it does with the answer. */
export interface KeyHold {
  /** Whether no other request of this process has to do with the key. */
  readonly isAlone: boolean;
  /** Again does nothing. */
  release(): void;
}

/** Who in this process has to do with a key now: what the database cannot tell of a process that lives. */
export class KeyHolds {
  private readonly counts = new Map<string, number>();

  take(orgId: string, key: string): KeyHold {
    const { counts } = this;
    const name = `${orgId} ${key}`;
    const count = (by: 1 | -1): void => {
      const now = (counts.get(name) ?? 0) + by;
      if (now > 0) counts.set(name, now);
      else counts.delete(name);
    };
    count(1);
    let isHeld = true;
    return {
      get isAlone() {
        return isHeld && counts.get(name) === 1;
      },
      release() {
        if (isHeld) count(-1);
        isHeld = false;
      },
    };
  }
}
