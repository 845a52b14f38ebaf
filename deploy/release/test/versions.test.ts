import { describe, expect, test } from "@jest/globals";
import { neededRelease } from "../src/commits.ts";
import { kindOfStep, parseVersion } from "../src/versions.ts";

describe("a version", () => {
  test.each(["1.2", "v1.2.3", "1.2.3-rc.1", "01.2.3", "1.2.3.4", "", "1.2.x"])("'%s' is refused", (text) => {
    expect(() => parseVersion(text)).toThrow("is not a version");
  });

  test.each([
    ["0.1.0", "0.1.1", "patch"],
    ["0.1.9", "0.2.0", "minor"],
    ["0.9.3", "1.0.0", "major"],
    ["1.2.3", "1.2.5", undefined],
    ["1.2.3", "1.4.0", undefined],
    ["1.2.3", "1.3.1", undefined],
    ["1.2.3", "1.2.3", undefined],
    ["1.2.3", "1.2.2", undefined],
  ])("from %s to %s is a step of kind %s", (last, next, kind) => {
    expect(kindOfStep(parseVersion(last), parseVersion(next))).toBe(kind);
  });
});

describe("commits need a release", () => {
  const commit = (subject: string, body = "") => ({ hash: "0".repeat(40), subject, body });
  const STABLE = parseVersion("1.2.3");

  test.each([
    ["fix(redis): retry leases", "", "patch"],
    ["docs: explain leases", "", "patch"],
    ["Merge branch 'other'", "", "patch"],
    ["feat(cli): list workers", "", "minor"],
    ["feature: another type", "", "patch"],
    ["feat(role)!: listen on loopback", "", "major"],
    ["test!: run suites in tiers", "", "major"],
    ["fix: drop a field", "Why.\n\nBREAKING CHANGE: the field is gone", "major"],
    ["fix: drop a field", "Not a BREAKING CHANGE: a footer begins a line", "patch"],
  ])("of the right kind: %s (%s)", (subject, body, kind) => {
    expect(neededRelease([commit("fix: first"), commit(subject, body), commit("chore: last")], STABLE).kind).toBe(kind);
  });

  test("of a minor version for a breaking change before 1.0", () => {
    expect(neededRelease([commit("feat!: another default")], parseVersion("0.1.0")).kind).toBe("minor");
  });

  test("and name the commits that decide", () => {
    const needed = neededRelease([commit("fix: a"), commit("feat: b"), commit("Merge c"), commit("feat: d")], STABLE);
    expect(needed.because.map(({ subject }) => subject)).toEqual(["feat: b", "feat: d"]);
    expect(needed.othersCount).toBe(1);
  });

  test("and none is an error", () => {
    expect(() => neededRelease([], STABLE)).toThrow("no commit since the last release");
  });
});
