/** Every process forgets the key at the commit, and its open connections end. */
export const NOTIFY_INVALID = `SELECT pg_notify('penstock_key_invalid', $1)`;
