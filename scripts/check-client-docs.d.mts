/** What of the exports of `@penstock/client` has no TSDoc. @param sources default: client/src */
export function checkClientDocs(sources?: string): Promise<{ faults: string[] }>;
