/** The kind of release that commits need, by Conventional Commits 1.0. */
import { type CommitKind, KINDS, type Version } from "./versions.ts";

export interface Commit {
  readonly hash: string;
  readonly subject: string;
  readonly body: string;
}

export interface NeededRelease {
  readonly kind: CommitKind;
  /** The commits that need this kind; empty for a patch release. */
  readonly because: readonly Commit[];
  /** Commits whose subject is not a Conventional Commit, merges for example: they count as fixes. */
  readonly othersCount: number;
}

const SUBJECT = /^(?<type>[a-z]+)(?:\([^()]+\))?(?<breaking>!)?: \S/;
const BREAKING_FOOTER = /^BREAKING[ -]CHANGE: /m;

/** Before 1.0 a breaking change needs a minor version, as SUPPORT.md says. */
function kindOf({ subject, body }: Commit, last: Version): CommitKind {
  const { type, breaking } = SUBJECT.exec(subject)?.groups ?? {};
  if (breaking !== undefined || BREAKING_FOOTER.test(body)) return last.major === 0 ? "minor" : "major";
  return type === "feat" ? "minor" : "patch";
}

/** The largest kind that one of the commits needs. `commits` must not be empty. */
export function neededRelease(commits: readonly Commit[], last: Version): NeededRelease {
  if (commits.length === 0) throw new Error("there is no commit since the last release");
  const kinds = commits.map((commit) => kindOf(commit, last));
  const kind = KINDS.findLast((one) => kinds.includes(one)) ?? "patch";
  const because = kind === "patch" ? [] : commits.filter((_, index) => kinds[index] === kind);
  return { kind, because, othersCount: commits.filter(({ subject }) => !SUBJECT.test(subject)).length };
}
