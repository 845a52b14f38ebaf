/**
 * The command that stops a group of processes may be another process than the one that started it, which may have crashed. The directory of
 * the group has a list of its processes; each is identified by its id and its start time, because ids are used again.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** `listener`: accepts requests; `work`: executes them; `server`: what the others depend on. */
export type ProcessStage = "listener" | "work" | "server";

export interface ListedProcess {
  readonly name: string;
  readonly pid: number;
  /** Start time in the text of the system; distinguishes this process from a later one with the same id. */
  readonly startedAt: string;
  readonly stage: ProcessStage;
  /** Requests an orderly end; SIGTERM when absent. */
  readonly stopSignal?: NodeJS.Signals;
}

/** Start time of a process; undefined when no process has this id, or only a zombie. */
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
    // The fields after the name, which may contain any character: the first is the state, the 20th the start in ticks since boot (proc(5)).
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? undefined : fields[19];
  }
  try {
    return execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" }).trim() || undefined;
  } catch {
    return undefined; // `ps` exits with this code when there is no such process.
  }
}

export const isAlive = ({ pid, startedAt }: ListedProcess): boolean => startOf(pid) === startedAt;

/** Does nothing when the process has ended, also when another one has its id now. */
export function signalTo(listed: ListedProcess, signal: NodeJS.Signals): void {
  if (!isAlive(listed)) return;
  try {
    process.kill(listed.pid, signal);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ESRCH") throw cause; // ESRCH: it has ended meanwhile.
  }
}

/** The list of one directory. The first entry is the process that started the others. */
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

  /** All listed processes that still run, in the order of their start. */
  alive(): readonly ListedProcess[] {
    return this.#listed.filter(isAlive);
  }

  /** Puts a process on the list, in the place of an earlier one of this name. Throws when it has ended already. */
  add(name: string, pid: number, stage: ProcessStage = "work", stopSignal?: NodeJS.Signals): ListedProcess {
    const startedAt = startOf(pid);
    if (startedAt === undefined) throw new Error(`${name} ended as soon as it was started`);
    const listed = { name, pid, startedAt, stage, ...(stopSignal === undefined ? {} : { stopSignal }) };
    this.#write([...this.#listed.filter((other) => other.name !== name), listed]);
    return listed;
  }

  clear(): void {
    this.#listed = [];
    rmSync(this.#path, { force: true });
  }

  /** Written atomically: a crash in the middle must not lose the list. */
  #write(listed: readonly ListedProcess[]): void {
    this.#listed = listed;
    writeFileSync(`${this.#path}.new`, JSON.stringify(listed, null, 1));
    renameSync(`${this.#path}.new`, this.#path);
  }
}
