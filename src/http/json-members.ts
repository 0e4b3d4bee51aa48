const BACKSLASH = 92;
const COLON = 58;

/** The index of the quote that ends the string which begins before `from`, or -1. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (before >= from && text.charCodeAt(before) === BACKSLASH) before--;
    if ((end - 1 - before) % 2 === 0) return end;
  }
  return -1;
}

/**
 * Whether a JSON text names more than `max` members, in all of its objects together. Asked before it is parsed: objects of a million names
 * take seconds to build, and again to look through. Takes the text's strings one by one; what is no JSON is answered somehow.
 */
export function hasMoreMembers(text: string, max: number): boolean {
  // A member takes five characters at least.
  if (text.length <= max * 5) return false;
  let members = 0;
  for (let open = text.indexOf('"'); open !== -1; open = text.indexOf('"', open + 1)) {
    const end = endOfString(text, open + 1);
    if (end === -1) return false;
    let after = end + 1;
    while (text.charCodeAt(after) <= 32) after++;
    if (text.charCodeAt(after) === COLON && ++members > max) return true;
    open = end;
  }
  return false;
}
