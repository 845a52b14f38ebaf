/** Versions of releases (`1.2.3`; there are no pre-releases), and the kinds of step between two of them. */

export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/** From the smallest to the largest. */
export const KINDS = ["patch", "minor", "major"] as const;
export type CommitKind = (typeof KINDS)[number];

/** Throws for anything but three numbers without leading zeros. */
export function parseVersion(text: string): Version {
  const match = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/.exec(text);
  if (match === null) throw new Error(`'${text}' is not a version: write three numbers, such as 1.2.3`);
  return { major: Number(match[1]), minor: Number(match[2]), patch: Number(match[3]) };
}

export const textOf = ({ major, minor, patch }: Version): string => `${major}.${minor}.${patch}`;

/** The version that follows. Upgrades go one minor version at a time, so no number is left out. */
export function versionAfter({ major, minor, patch }: Version, kind: CommitKind): Version {
  switch (kind) {
    case "major":
      return { major: major + 1, minor: 0, patch: 0 };
    case "minor":
      return { major, minor: minor + 1, patch: 0 };
    case "patch":
      return { major, minor, patch: patch + 1 };
  }
}

/** The kind of step from `last` to `next`; undefined when `next` does not follow `last` directly. */
export function kindOfStep(last: Version, next: Version): CommitKind | undefined {
  return KINDS.find((kind) => textOf(versionAfter(last, kind)) === textOf(next));
}
