/** Shortens and cleans text of foreign servers before users see it: enough to recognise their own server (cloud.md §6.6.5). */

/** At most `charsMax` characters; characters that are not printable ASCII become question marks. */
export function printable(text: string, charsMax: number): string {
  return text.slice(0, charsMax).replace(/[^\x20-\x7e]/g, "?");
}
