import { describe, expect, test } from "@jest/globals";
import { newestVersionOf, notesOf, withRelease } from "../src/change-log.ts";

const TEXT = `# Change log

## Unreleased

### Added

- A thing for $& and $1.

## v0.1.0 (2026-11-25)

The first release.
`;

describe("the change log", () => {
  test("gives what is unreleased to the version, and keeps an empty section for what comes", () => {
    const released = withRelease(TEXT, "0.2.0", "2026-12-01");
    expect(released).toBe(TEXT.replace("## Unreleased\n", "## Unreleased\n\n## v0.2.0 (2026-12-01)\n"));
    expect(notesOf(released, "0.2.0")).toBe("### Added\n\n- A thing for $& and $1.");
    expect(newestVersionOf(released)).toBe("0.2.0");
    expect(() => withRelease(released, "0.2.1", "2026-12-02")).toThrow("is empty");
  });

  test("has the notes of each version, to the end of the file", () => {
    expect(notesOf(TEXT, "0.1.0")).toBe("The first release.");
    expect(() => notesOf(TEXT, "0.1")).toThrow("has no section for v0.1");
  });

  test("refuses a version that it has, and a text without the section", () => {
    expect(() => withRelease(TEXT, "0.1.0", "2026-12-01")).toThrow("has a section for v0.1.0 already");
    expect(() => withRelease("# Change log\n", "0.2.0", "2026-12-01")).toThrow("no section 'Unreleased'");
    expect(newestVersionOf("# Change log\n")).toBeUndefined();
  });
});
