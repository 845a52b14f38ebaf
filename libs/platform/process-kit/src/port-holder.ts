/** Finds the process that listens at a port, for errors that are more useful than "address already in use". */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { createServer } from "node:net";
import { causeCode, handleErrors, present } from "@perdure/base";

export interface PortHolder {
  readonly pid: number;
  readonly command: string;
  /** Its working directory; undefined when the system does not report it. */
  readonly folder: string | undefined;
}

/** Whether a server could listen there, on loopback as on every address. */
export async function isPortFree(port: number): Promise<boolean> {
  for (const host of ["127.0.0.1", "::1", undefined]) if (!(await canListen(port, host))) return false;
  return true;
}

function canListen(port: number, host: string | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    // A machine without IPv6 does not make the port unusable.
    handleErrors(server, ({ code }: NodeJS.ErrnoException) => resolve(code === "EADDRNOTAVAIL" || code === "EAFNOSUPPORT"));
    server.listen({ port, exclusive: true, ...(host === undefined ? {} : { host }) }, () => server.close(() => resolve(true)));
  });
}

/** The process that listens there; undefined when the system does not show it, as for processes of other users. */
export function holderOf(port: number): PortHolder | undefined {
  return process.platform === "linux" ? holderByProc(port, () => true) : holderByLsof(port);
}

/** A process besides this one that listens there, too, which is possible where all of them share the port (Linux). */
export function otherHolderOf(port: number): PortHolder | undefined {
  return holderByProc(port, (pid) => pid !== process.pid);
}

function holderByProc(port: number, isSought: (pid: number) => boolean): PortHolder | undefined {
  const inodes = new Set(["/proc/net/tcp", "/proc/net/tcp6"].flatMap((file) => listeningInodes(readOrEmpty(file), port)));
  if (inodes.size === 0) return undefined;
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry) || !isSought(Number(entry))) continue;
    if (socketsOf(entry).some((inode) => inodes.has(inode))) {
      const command = readOrEmpty(`/proc/${entry}/cmdline`).replaceAll("\0", " ").trim();
      const folder = linkOrEmpty(`/proc/${entry}/cwd`);
      return { pid: Number(entry), command: command.slice(0, COMMAND_CHARS_MAX), folder: folder === "" ? undefined : folder };
    }
  }
  return undefined;
}

/** State `0A` is listening; the port is the hexadecimal end of the local address (proc(5)). */
export function listeningInodes(table: string, port: number): readonly string[] {
  const portSuffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return table
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[1]?.endsWith(portSuffix) === true && fields[3] === "0A")
    .flatMap((fields) => (fields[9] === undefined ? [] : [fields[9]]));
}

function socketsOf(pid: string): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      const match = /^socket:\[(\d+)\]$/.exec(linkOrEmpty(`/proc/${pid}/fd/${fd}`));
      return match === null ? [] : [present(match[1])];
    });
  } catch (cause) {
    return unreadable(cause, []);
  }
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    return unreadable(cause, "");
  }
}

function linkOrEmpty(path: string): string {
  try {
    return readlinkSync(path);
  } catch (cause) {
    return unreadable(cause, "");
  }
}

/** Processes may end meanwhile, and those of other users cannot be read. */
function unreadable<T>(cause: unknown, nothing: T): T {
  if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(causeCode(cause) ?? "")) return nothing;
  throw cause;
}

const COMMAND_CHARS_MAX = 120;

function holderByLsof(port: number): PortHolder | undefined {
  const listener = lsof("-nP", `-iTCP:${port}`, "-sTCP:LISTEN", "-Fpc");
  const pid = /^p(\d+)$/m.exec(listener)?.[1];
  if (pid === undefined) return undefined;
  const folder = /^n(.+)$/m.exec(lsof("-a", "-p", pid, "-d", "cwd", "-Fn"))?.[1];
  return { pid: Number(pid), command: /^c(.*)$/m.exec(listener)?.[1] ?? "", folder };
}

/** Empty when lsof is not installed, or found nothing, which it reports with its exit code. */
function lsof(...args: readonly string[]): string {
  try {
    return execFileSync("lsof", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  } catch {
    return "";
  }
}
