/** Asks PostgreSQL about itself. */
export const SERVER_INFO = `SELECT current_setting('server_version') AS version, (SELECT count(*) FROM organizations) AS organizations`;
