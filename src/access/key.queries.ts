/** At the commit, every process drops the key from its cache and closes the key's connections. */
export const NOTIFY_INVALID = `SELECT pg_notify('penstock_key_invalid', $1)`;
