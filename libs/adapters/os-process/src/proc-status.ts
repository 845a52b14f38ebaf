/** The text of `/proc/<pid>/status` on Linux. */

/**
 * KiB that only this process holds, or all of its resident memory where the kernel does not report them separately. Undefined for a process
 * that has ended and waits for its parent.
 */
export function privateKibOf(status: string): number | undefined {
  const field = (name: string): number | undefined => {
    const match = new RegExp(`^${name}:\\s*(\\d+) kB$`, "m").exec(status)?.[1];
    return match === undefined ? undefined : Number(match);
  };
  return field("RssAnon") ?? field("VmRSS");
}
