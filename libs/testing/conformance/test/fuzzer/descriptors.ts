/**
 * Finds connections that a program keeps after their peers are gone. Linux lists the descriptors of each process, and ports and state of
 * each TCP socket; a socket whose connection was reset is in no table any more.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** States of `/proc/net/tcp` that are not a connection: TIME_WAIT, CLOSE and LISTEN. */
const NOT_CONNECTED: ReadonlySet<string> = new Set(["06", "07", "0A"]);
const TCP_TABLES = ["tcp", "tcp6"] as const;
/** Tables of sockets that are not TCP, with the column of the inode. */
const OTHER_TABLES = [
  ["udp", 9],
  ["udp6", 9],
  ["unix", 6],
  ["netlink", 9],
] as const;
const PAGE_BYTES = 4_096;
const MIB = 1_048_576;

/** Sockets, pipes and files that the process has open; none when it has ended. */
export function descriptorsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}

export function residentMiBOf(pid: number): number {
  const pages = Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]);
  return Math.round((pages * PAGE_BYTES) / MIB);
}

/**
 * Connections that the process has at one of its own ports, and sockets whose connection is over but that it has not closed. Only
 * the latter when it does not listen (`port` undefined).
 */
export function connectionsOf(pid: number, port: number | undefined): number {
  const own = socketInodesOf(pid);
  if (own.size === 0) return 0;
  let count = 0;
  for (const table of TCP_TABLES) {
    for (const [, local = "", , state = "", , , , , , inode = ""] of rowsOf(table)) {
      if (!own.delete(inode) || NOT_CONNECTED.has(state)) continue;
      if (Number.parseInt(local.split(":")[1] ?? "", 16) === port) count++;
    }
  }
  for (const [table, column] of OTHER_TABLES) for (const row of rowsOf(table)) own.delete(row[column] ?? "");
  return count + own.size;
}

function socketInodesOf(pid: number): Set<string> {
  const inodes = new Set<string>();
  for (const name of namesOf(`/proc/${pid}/fd`)) {
    const inode = /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${name}`))?.[1];
    if (inode !== undefined) inodes.add(inode);
  }
  return inodes;
}

function namesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // The process has ended.
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ""; // Closed meanwhile.
  }
}

function rowsOf(table: string): readonly (readonly string[])[] {
  const lines = readFileSync(`/proc/net/${table}`, "utf8").split("\n");
  return lines.slice(1, -1).map((line) => line.trim().split(/\s+/));
}
