/** At the commit, every process drops the key from its cache and closes the key's connections. */
export const NOTIFY_INVALID = `SELECT pg_notify('penstock_key_invalid', $1)`;

/** At the commit, every process reads the key anew with its next call. Its open connections stay. */
export const NOTIFY_CHANGED = `SELECT pg_notify('penstock_key_changed', $1)`;
