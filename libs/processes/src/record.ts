/**
 * Why: whoever stops a group of processes may be somebody else than who started it, and that one may be dead. What runs is on a list in
 * their directory; a process id counts only together with the moment its process started, because numbers are used again.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** `door`: takes calls; `work`: does what they ask for; `server`: what the others stand on. */
export type ProcessStage = "door" | "work" | "server";

export interface ListedProcess {
  readonly name: string;
  readonly pid: number;
  /** In the system's own words; tells this process from another that has its number later. */
  readonly startedAt: string;
  readonly stage: ProcessStage;
}

/** What a process is known by; undefined when there is none of this number, or only its remains. */
export function startOf(pid: number): string | undefined {
  const stat = `/proc/${pid}/stat`;
  if (existsSync("/proc/self/stat")) {
    let text: string;
    try {
      text = readFileSync(stat, "utf8");
    } catch (cause) {
      if (["ENOENT", "ESRCH"].includes((cause as NodeJS.ErrnoException).code ?? "")) return undefined;
      throw cause;
    }
    // After the name, which may hold anything: the state, and as the 20th field the start in ticks since boot (proc(5)).
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? undefined : fields[19];
  }
  try {
    return execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" }).trim() || undefined;
  } catch {
    return undefined; // `ps` says with its exit code that there is no such process.
  }
}

export const isAlive = ({ pid, startedAt }: ListedProcess): boolean => startOf(pid) === startedAt;

/** Does nothing when it has ended, whoever has its number now. */
export function signalTo(listed: ListedProcess, signal: NodeJS.Signals): void {
  if (!isAlive(listed)) return;
  try {
    process.kill(listed.pid, signal);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ESRCH") throw cause; // It ended in this very moment: all the better.
  }
}

/** The list of one directory. The first entry is who started the others. */
export class Record {
  readonly #path: string;
  #listed: readonly ListedProcess[];

  constructor(directory: string) {
    this.#path = join(directory, "running.json");
    this.#listed = existsSync(this.#path) ? (JSON.parse(readFileSync(this.#path, "utf8")) as ListedProcess[]) : [];
  }

  get supervisor(): ListedProcess | undefined {
    return this.#listed[0];
  }

  /** All that are on the list and alive, in the order of their start. */
  alive(): readonly ListedProcess[] {
    return this.#listed.filter(isAlive);
  }

  /** Puts a process on the list, in the place of an earlier one of this name. Throws when it has ended already. */
  add(name: string, pid: number, stage: ProcessStage = "work"): ListedProcess {
    const startedAt = startOf(pid);
    if (startedAt === undefined) throw new Error(`${name} ended as soon as it was started`);
    const listed = { name, pid, startedAt, stage };
    this.#write([...this.#listed.filter((other) => other.name !== name), listed]);
    return listed;
  }

  clear(): void {
    this.#listed = [];
    rmSync(this.#path, { force: true });
  }

  /** Whole or not at all: a crash in the middle must not lose what runs. */
  #write(listed: readonly ListedProcess[]): void {
    this.#listed = listed;
    writeFileSync(`${this.#path}.new`, JSON.stringify(listed, null, 1));
    renameSync(`${this.#path}.new`, this.#path);
  }
}
