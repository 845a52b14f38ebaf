/** Network namespaces without a network: processes in one reach each other over its loopback interface, and nothing else. */
import { readFileSync } from "node:fs";
import { runCommand } from "@perdure/processes";

/** The interface `lo` is all that a new namespace has, and it is down. */
const SCRIPT = 'ip link set lo up && exec "$@"';
const UNSHARE = ["--user", "--map-root-user", "--net", "sh", "-c", SCRIPT, "sh"];

/** The command and arguments that run a program in a namespace of its own. */
export function withoutNetwork(program: readonly string[]): { readonly command: string; readonly args: readonly string[] } {
  return { command: "unshare", args: [...UNSHARE, ...program] };
}

/** The reason why this machine cannot make such a namespace: missing permissions or tools; undefined when it can. */
export async function namespaceRefusal(): Promise<string | undefined> {
  const { command, args } = withoutNetwork(["true"]);
  try {
    const { exitCode, stderr } = await runCommand(command, args);
    return exitCode === 0 ? undefined : `no network namespace can be made here: ${stderr.trim()}`;
  } catch (cause) {
    return `no network namespace can be made here: ${cause instanceof Error ? cause.message : cause}`;
  }
}

/**
 * Requests to outside that processes in the namespace of this process have made since it exists: the kernel counts packets and
 * connections for which there is no route.
 */
export function requestsToOutside(): number {
  return outNoRoutes(readFileSync("/proc/net/snmp", "utf8"), readFileSync("/proc/net/snmp6", "utf8"));
}

/** @param snmp a line with names and one with values for each protocol; @param snmp6 a line for each value */
export function outNoRoutes(snmp: string, snmp6: string): number {
  const [names, values] = snmp.split("\n").filter((line) => line.startsWith("Ip: "));
  const column = names?.split(" ").indexOf("OutNoRoutes") ?? -1;
  const counts = [values?.split(" ")[column], /^Ip6OutNoRoutes\s+(\d+)$/m.exec(snmp6)?.[1]];
  if (counts.includes(undefined)) throw new Error("this kernel does not count packets without a route");
  return counts.reduce((sum, count) => sum + Number(count), 0);
}
