/** Shortens and cleans text of foreign servers before users see it: enough to recognise their own server (cloud.md §6.6.5). */

/** Returns at most `charsMax` characters of the text, with question marks for those that are not printable ASCII. */
export function printable(text: string, charsMax: number): string {
  return text.slice(0, charsMax).replace(/[^\x20-\x7e]/g, "?");
}
