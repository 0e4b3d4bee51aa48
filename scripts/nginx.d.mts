/** Whether this machine has nginx. */
export function hasNginx(): boolean;
