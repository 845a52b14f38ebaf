/** What a release reads from, and writes to, the Git repository of a folder. */
import { execFileSync } from "node:child_process";
import type { Commit } from "./commits.ts";

const LOG_BYTES_MAX = 256 * 1024 * 1024;
const RELEASE_TAG = "v[0-9]*.[0-9]*.[0-9]*";

export interface LastRelease {
  readonly version: string;
  readonly commit: string;
}

export class Repository {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  branch(): string {
    return this.#git("rev-parse", "--abbrev-ref", "HEAD");
  }

  /** Paths of files that differ from the last commit, or are not in it. */
  changedFiles(): readonly string[] {
    return linesOf(this.#git("status", "--porcelain")).map((line) => line.slice(2).trim());
  }

  files(): readonly string[] {
    return this.#git("ls-files", "-z").split("\0").filter(Boolean);
  }

  hasTag(name: string): boolean {
    return this.#git("tag", "--list", name) !== "";
  }

  /** The newest tag of a release behind HEAD. */
  lastTag(): LastRelease | undefined {
    const [name] = linesOf(this.#git("tag", "--list", RELEASE_TAG, "--merged", "HEAD", "--sort=-version:refname"));
    return name === undefined ? undefined : { version: name.slice(1), commit: this.#git("rev-list", "-n", "1", name) };
  }

  /** The commit that gave `path` this text, the oldest one when there are several. */
  commitThatAdded(text: string, path: string): string | undefined {
    return linesOf(this.#git("log", "--reverse", "--format=%H", `-S${text}`, "--", path))[0];
  }

  commitsSince(commit: string): readonly Commit[] {
    const log = this.#git("log", "--no-merges", "--format=%H%x1f%s%x1f%b%x1e", `${commit}..HEAD`);
    return log
      .split("\x1e")
      .map((record) => record.trim().split("\x1f"))
      .filter(([hash]) => hash !== undefined && hash !== "")
      .map(([hash = "", subject = "", body = ""]) => ({ hash, subject, body }));
  }

  commit(paths: readonly string[], message: string): void {
    this.#git("add", "--", ...paths);
    this.#git("commit", "--quiet", "--message", message);
  }

  tag(name: string, message: string): void {
    this.#git("tag", "--annotate", name, "--message", message);
  }

  #git(...args: readonly string[]): string {
    return execFileSync("git", args, { cwd: this.#root, encoding: "utf8", maxBuffer: LOG_BYTES_MAX }).trimEnd();
  }
}

const linesOf = (text: string): readonly string[] => text.split("\n").filter((line) => line !== "");
