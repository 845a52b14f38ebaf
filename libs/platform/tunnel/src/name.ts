/**
 * The name of a tunnel is part of paths and URIs, so it uses only characters that need no encoding in either (cloud.md §2.3). Case
 * matters.
 */
const NAME = /^[A-Za-z0-9](?:[-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?$/;

export function isTunnelName(text: string): boolean {
  return NAME.test(text);
}
