/** The change log: `## Unreleased`, then `## v<version> (<date>)` for each release, newest first. */

const UNRELEASED = "## Unreleased\n";

/** The text between the heading that begins so and the next heading of its level, without blank lines around it; undefined without heading. */
function sectionOf(text: string, heading: string): string | undefined {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => line === heading || line.startsWith(`${heading} (`));
  if (start === -1) return undefined;
  const end = lines.findIndex((line, index) => index > start && line.startsWith("## "));
  return lines
    .slice(start + 1, end === -1 ? undefined : end)
    .join("\n")
    .trim();
}

/** What a release changed, for its page. Throws when the change log does not have the version. */
export function notesOf(text: string, version: string): string {
  const notes = sectionOf(text, `## v${version}`);
  if (notes === undefined) throw new Error(`CHANGELOG.md has no section for v${version}`);
  return notes;
}

/** The newest version of the change log; undefined before the first release. */
export function newestVersionOf(text: string): string | undefined {
  return /^## v(\d+\.\d+\.\d+) \(/m.exec(text)?.[1];
}

/**
 * The text in which `Unreleased` has become the version, with an empty `Unreleased` above it. Throws when nothing is unreleased, or the version
 * is there already.
 *
 * @param date `YYYY-MM-DD`.
 */
export function withRelease(text: string, version: string, date: string): string {
  const unreleased = sectionOf(text, "## Unreleased");
  if (unreleased === undefined) throw new Error("CHANGELOG.md has no section 'Unreleased'");
  if (unreleased === "") throw new Error("the section 'Unreleased' of CHANGELOG.md is empty: add what users can see");
  if (sectionOf(text, `## v${version}`) !== undefined) throw new Error(`CHANGELOG.md has a section for v${version} already`);
  return text.replace(UNRELEASED, () => `${UNRELEASED}\n## v${version} (${date})\n`);
}
