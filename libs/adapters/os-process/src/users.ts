/**
 * Runtimes run code of tenants. Where the platform may give each runtime a user of its own, the system keeps a compromised one from the
 * data, keys and processes of its neighbours.
 */
import { execFileSync } from "node:child_process";
import { causeMessage, jsonFields, PerdureError } from "@perdure/base";

export interface UidRange {
  readonly first: number;
  /** Inclusive. */
  readonly last: number;
}

/** The shell becomes the runtime behind it: without groups, capabilities, or a way to get them by another program. */
export function becoming(uid: number): readonly string[] {
  const id = [`--reuid=${uid}`, `--regid=${uid}`, "--clear-groups"];
  return ["setpriv", ...id, "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all"];
}

/** Users of the system by number; their groups have the same numbers. An environment keeps its user until it is erased. */
export class UidPool {
  readonly #range: UidRange;
  readonly #used = new Set<number>();
  #next: number;

  /**
   * `readable`: files that every runtime reads; `directory`: that of all environments. Throws OPS0001 when a process cannot be given such a user,
   * or a runtime of that user could not read what it needs.
   */
  constructor(range: UidRange, readable: readonly string[], directory: string) {
    this.#range = range;
    this.#next = range.first;
    if (range.first < 1 || range.last < range.first) throw unusable("its first number must be above 0 and not above its last");
    const script =
      'd="$1"; shift; test -x "$d" || { echo "$d"; exit 1; }; for f; do test -r "$f" || { echo "$f"; exit 1; }; done';
    const [command = "", ...args] = [...becoming(range.first), "/bin/sh", "-c", script, "sh", directory, ...readable];
    try {
      execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], timeout: PROBE_MS });
    } catch (cause) {
      const fields = jsonFields(cause) ?? {};
      const outputOf = (name: string): string => String(fields[name] ?? "").trim();
      const unreadable = outputOf("stdout");
      if (unreadable !== "") throw unusable(`user ${range.first} cannot read ${unreadable}`, cause);
      throw unusable(outputOf("stderr").split("\n", 1)[0] || causeMessage(cause), cause);
    }
  }

  /** An environment has it already. */
  keep(uid: number): void {
    this.#used.add(uid);
  }

  /** Releases a user. It is reused only after all others of the range, because files of the earlier runtime may remain. */
  giveBack(uid: number): void {
    this.#used.delete(uid);
  }

  /** Throws OPS0001 when all users of the range are taken. */
  take(): number {
    const { first, last } = this.#range;
    for (let tried = first; tried <= last; tried++) {
      const uid = this.#next;
      this.#next = uid === last ? first : uid + 1;
      if (this.#used.has(uid)) continue;
      this.#used.add(uid);
      return uid;
    }
    throw unusable("all its users are taken");
  }
}

const PROBE_MS = 10_000;

function unusable(reason: string, cause?: unknown): PerdureError {
  return new PerdureError("OPS0001", `'provisioner.uid-range' cannot be used: ${reason}`, { cause });
}
