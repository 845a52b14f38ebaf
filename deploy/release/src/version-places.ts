/** Where files of the tree have the version of Perdure. */

interface VersionPlace {
  readonly what: string;
  readonly paths: RegExp;
  /** Finds the version between two groups: what stands before it, and what stands behind it. */
  readonly pattern: (version: string) => RegExp;
}

/** As a pattern, with the version in which every `.` is a plain character. */
const around = (before: string, behind: string) => (version: string) =>
  new RegExp(`(${before})${version.replaceAll(".", "\\.")}(${behind})`, "gm");

export const VERSION_PLACES: readonly VersionPlace[] = [
  {
    what: "packages of the workspace",
    paths: /(?:^|\/)package\.json$/,
    // At the beginning of the file: versions of dependencies stand further below.
    pattern: around('^\\{\\n {2}"name": "[^"]+",\\n {2}"version": "', '",?$'),
  },
  {
    what: "charts, with the version of the programs and of charts that they contain",
    paths: /^charts\/[^/]+\/Chart\.yaml$/,
    pattern: around("^(?: {4})?(?:version|appVersion): ", "$"),
  },
  {
    what: "the version that programs report",
    paths: /^libs\/platform\/telemetry\/src\/version\.ts$/,
    pattern: around('VERSION = "', '"'),
  },
  { what: "the default of make images", paths: /^Makefile$/, pattern: around("(?:VERSION\\),|VERSION=)", "\\)") },
  { what: "images of the compose file", paths: /^deploy\/compose\.yaml$/, pattern: around(":-", "\\}$") },
  { what: "the label of images", paths: /^deploy\/images\/Dockerfile$/, pattern: around("^ARG VERSION=", "$") },
  { what: "the cluster of kind", paths: /^deploy\/kind\/up\.sh$/, pattern: around("^version=", "$") },
  {
    what: "environments and images of the examples for Kubernetes",
    paths: /^deploy\/(?:examples\/kubernetes|kind)\/[^/]+\.yaml$/,
    pattern: around("^ +(?:version: |image: \\S+:)", "$"),
  },
  {
    what: "file names in the guide to the packages",
    paths: /^docs\/how-to\/install-from-npm\.md$/,
    pattern: around("dist/packages/perdure(?:-[a-z0-9-]+)?-", "\\.tgz"),
  },
  {
    what: "file names in the guide to the tarball and the Debian package",
    paths: /^docs\/how-to\/install-from-packages\.md$/,
    pattern: around("/perdure[-_]", "[-_](?:linux-x64|amd64)"),
  },
  {
    what: "the folder of the programs in the guide to three machines",
    paths: /^docs\/how-to\/three-machines-by-hand\.md$/,
    pattern: around("/opt/perdure/", "`"),
  },
];

/** Recorded data, and what is generated, keep the version with which they were written. */
const KEPT = /(?:^|\/)(?:testdata|node_modules|dist)\//;

export interface ReplacedVersion {
  readonly text: string;
  readonly count: number;
}

/** The text of a file with the next version in each place; `count` is 0 when the file has none. */
export function replaceVersion(path: string, text: string, last: string, next: string): ReplacedVersion {
  let count = 0;
  let replaced = text;
  if (KEPT.test(path)) return { text, count };
  for (const place of VERSION_PLACES.filter(({ paths }) => paths.test(path))) {
    replaced = replaced.replace(place.pattern(last), (_, before: string, behind: string) => {
      count++;
      return `${before}${next}${behind}`;
    });
  }
  return { text: replaced, count };
}

/** Whether a file may have the version. */
export const mayHaveVersion = (path: string): boolean => !KEPT.test(path) && VERSION_PLACES.some(({ paths }) => paths.test(path));
