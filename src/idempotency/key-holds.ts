/** One request's use of a key in this process, from its query to the end of its work. */
export interface KeyHold {
  /** Whether no other request of this process uses the key. */
  readonly isAlone: boolean;
  /** A second call does nothing. */
  release(): void;
}

/** Counts the requests of this process that use a key now, which the database does not know. */
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
