/** Why a regular expression may take more than linear time, or undefined. */
export function faultOfPattern(source: string, flags: string): string | undefined;
/** Every expression that is neither linear nor excepted, as `file:line: what`. */
export function checkPatterns(): Promise<string[]>;
