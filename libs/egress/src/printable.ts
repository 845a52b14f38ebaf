/** Why: what strangers answer is shown to users only so far that they recognise their own server in it (cloud.md §6.6.5). */

/** At most `charsMax` characters, of which those that are not printable ASCII become question marks. */
export function printable(text: string, charsMax: number): string {
  return text.slice(0, charsMax).replace(/[^\x20-\x7e]/g, "?");
}
