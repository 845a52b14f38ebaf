/** Valid names of environments and regions, and the host names of environments (cloud.md §0, §5.2, §5.7). */
import type { BareEnvironmentId } from "./ids.js";

const NAME = /^[a-z0-9-]{1,40}$/;
/** These names have a meaning as profiles of the command line. */
const RESERVED: ReadonlySet<string> = new Set(["global", "default", "local"]);
/** Several labels are allowed: regions in customers' own accounts have several. */
const REGION = /^[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,3}$/;

export function isEnvironmentName(text: string): boolean {
  return NAME.test(text) && !RESERVED.has(text);
}

export function isRegion(text: string): boolean {
  return REGION.test(text);
}

/** `<bare>.env.<region>.<domain>` */
export function environmentHost(bare: BareEnvironmentId, region: string, domain: string): string {
  return `${bare}.env.${region}.${domain}`;
}

/** `tunnel.<region>.<domain>` */
export function tunnelHost(region: string, domain: string): string {
  return `tunnel.${region}.${domain}`;
}
