/** Releases of a small repository that has every place of a version. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { makeRelease } from "../src/release.ts";
import { Repository } from "../src/repository.ts";

const FILES: Readonly<Record<string, string>> = {
  "package.json": '{\n  "name": "perdure",\n  "version": "0.1.0",\n  "private": true\n}\n',
  "libs/a/package.json": '{\n  "name": "@perdure/a",\n  "version": "0.1.0",\n  "dependencies": { "other": "0.1.0" }\n}\n',
  "libs/a/testdata/package.json": '{\n  "name": "recorded",\n  "version": "0.1.0"\n}\n',
  "charts/perdure/Chart.yaml":
    "name: perdure\nversion: 0.1.0\nappVersion: 0.1.0\ndependencies:\n  - name: perdure-crds\n    version: 0.1.0\n",
  "charts/perdure-crds/Chart.yaml": "name: perdure-crds\nversion: 0.1.0\n",
  "libs/platform/telemetry/src/version.ts": 'export const VERSION = "0.1.0";\n',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the script has a variable of the shell
  "deploy/images/build.sh": "for image in ${IMAGES:-server worker}; do :; done\n",
  "CHANGELOG.md": "# Change log\n\n## Unreleased\n\n- A thing.\n\n## v0.1.0 (2026-11-25)\n\nThe first.\n",
};

let root: string;
let printed: string[];
let commands: string[];

const git = (...args: readonly string[]): string => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
const read = (path: string): string => readFileSync(join(root, path), "utf8");

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

function commit(subject: string): void {
  write("work.txt", subject);
  git("add", "--all");
  git("commit", "--quiet", "--message", subject);
}

interface ReleaseOptions {
  readonly isDryRun?: boolean;
  readonly hasHelm?: boolean;
  readonly run?: (command: string) => void;
}

function release(version: string, { isDryRun = false, hasHelm = true, run = () => {} }: ReleaseOptions = {}): void {
  makeRelease(
    { root, version, date: "2026-12-01", isDryRun },
    {
      repository: new Repository(root),
      print: (line) => printed.push(line),
      run: (command, args) => {
        commands.push([command, ...args].join(" "));
        run(command);
      },
      isInstalled: (command) => command !== "helm" || hasHelm,
    },
  );
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "perdure-release-"));
  printed = [];
  commands = [];
  git("init", "--quiet", "--initial-branch", "main");
  git("config", "user.name", "A maintainer");
  git("config", "user.email", "maintainer@example.com");
  git("config", "commit.gpgSign", "false");
  git("config", "tag.gpgSign", "false");
  for (const [path, text] of Object.entries(FILES)) write(path, text);
  commit("feat: the first release");
  git("tag", "v0.1.0");
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

describe("a release", () => {
  test("writes the version and the change log, commits, packs and tags", () => {
    commit("feat: a thing");
    release("0.2.0");
    expect(git("status", "--porcelain")).toBe("");
    expect(git("log", "-1", "--format=%s")).toBe("chore(release): version 0.2.0");
    expect(git("rev-parse", "v0.2.0^{commit}")).toBe(git("rev-parse", "HEAD"));
    expect(JSON.parse(read("package.json"))).toMatchObject({ version: "0.2.0" });
    expect(JSON.parse(read("libs/a/package.json"))).toMatchObject({ version: "0.2.0", dependencies: { other: "0.1.0" } });
    expect(read("libs/a/testdata/package.json")).toBe(FILES["libs/a/testdata/package.json"]);
    expect(read("charts/perdure/Chart.yaml")).toBe(FILES["charts/perdure/Chart.yaml"]?.replaceAll("0.1.0", "0.2.0"));
    expect(read("libs/platform/telemetry/src/version.ts")).toContain('"0.2.0"');
    expect(read("CHANGELOG.md")).toContain("## Unreleased\n\n## v0.2.0 (2026-12-01)\n\n- A thing.\n\n## v0.1.0");
    expect(commands).toEqual([
      "make packages PLATFORMS=all",
      "helm package charts/perdure --destination dist/charts",
      "helm package charts/perdure-crds --destination dist/charts",
    ]);
    expect(printed.join("\n")).toContain("  perdure-server:0.2.0\n  perdure-worker:0.2.0\n");
    expect(printed.join("\n")).toContain("git push origin main v0.2.0");
  });

  test("changes nothing in a dry run, and prints the same steps", () => {
    commit("feat: a thing");
    const before = git("rev-parse", "HEAD");
    release("0.2.0", { isDryRun: true });
    expect(git("status", "--porcelain")).toBe("");
    expect(git("rev-parse", "HEAD")).toBe(before);
    expect(git("tag", "--list")).toBe("v0.1.0");
    expect(commands).toEqual([]);
    expect(printed).toEqual(
      expect.arrayContaining([
        "Version 0.2.0 is a minor release after 0.1.0; its commits need a minor release.",
        "Would write version 0.2.0 to 6 files (it is 0.1.0).",
        "Would run: make packages PLATFORMS=all",
        "Would tag: v0.2.0",
      ]),
    );
  });

  test("follows a release that was made here before", () => {
    commit("feat: a thing");
    release("0.2.0");
    write("CHANGELOG.md", read("CHANGELOG.md").replace("## Unreleased\n", "## Unreleased\n\n- A fix.\n"));
    commit("fix: another thing");
    release("0.2.1");
    expect(git("tag", "--list").split("\n")).toEqual(["v0.1.0", "v0.2.0", "v0.2.1"]);
  });

  test("finds the release before by the change log where a clone has no tags", () => {
    git("tag", "--delete", "v0.1.0");
    commit("fix: a thing");
    release("0.1.1", { isDryRun: true });
    expect(printed[0]).toContain("0.1.1 is a patch release after 0.1.0");
  });

  test("has no tag when packing fails", () => {
    commit("fix: a thing");
    const fail = (): never => {
      throw new Error("no space left");
    };
    expect(() => release("0.1.1", { run: fail })).toThrow("no space left");
    expect(git("tag", "--list")).toBe("v0.1.0");
  });

  test("leaves the charts out, and says so, without helm", () => {
    commit("fix: a thing");
    release("0.1.1", { hasHelm: false });
    expect(commands).toEqual(["make packages PLATFORMS=all"]);
    expect(printed).toContain("Charts are not packed: helm is not installed.");
  });
});

describe("the program behind `make release`", () => {
  const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
  /** With a cache and a `PATH` in which only Git is. */
  const runMain = (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const { PATH } = process.env;
    const own = { PATH, PERDURE_RELEASE_ROOT: root, XDG_CACHE_HOME: join(root, ".git/cache"), ...env };
    return spawnSync(process.execPath, [main, ...args], { encoding: "utf8", env: own });
  };

  test("prints every step without PUBLISH=1, and changes nothing", () => {
    commit("feat: a thing");
    const before = git("rev-parse", "HEAD");
    const { status, stdout, stderr } = runMain(["0.2.0"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toContain("Would write version 0.2.0 to 6 files (it is 0.1.0).");
    expect(stdout).toContain("Would run: make packages PLATFORMS=all");
    expect(stdout).toContain("perdure-server:0.2.0");
    expect(stdout).toContain("Nothing was changed. Make the release: make release VERSION=0.2.0 PUBLISH=1");
    expect(git("status", "--porcelain")).toBe("");
    expect([git("rev-parse", "HEAD"), git("tag", "--list")]).toEqual([before, "v0.1.0"]);
  });

  test("packs charts with the helm that tests have compiled, when there is no other", () => {
    commit("feat: a thing");
    write(".git/cache/perdure/helm-3.18.6/helm", "");
    expect(runMain(["0.2.0"]).stdout).toContain("Would run: helm package charts/perdure --destination dist/charts");
  });

  test("ends with exit code 1 and the reason when a release is not possible", () => {
    expect(runMain([])).toMatchObject({ status: 1, stderr: "release: name the version: make release VERSION=1.2.3\n" });
    commit("feat: a thing");
    expect(runMain(["0.1.1"]).stderr).toContain("need a minor release");
    expect(git("tag", "--list")).toBe("v0.1.0");
  });
});

describe("a release is refused", () => {
  test("of a smaller kind than its commits need, which are named", () => {
    commit("fix: one");
    commit("feat(cli): two");
    expect(() => release("0.1.1")).toThrow(
      /0\.1\.1 cannot follow 0\.1\.0: .* need a minor release, so write 0\.2\.0 or 1\.0\.0\n {2}[0-9a-f]{8} feat\(cli\): two$/s,
    );
  });

  test("of a version that leaves out numbers, and of another text", () => {
    commit("fix: one");
    expect(() => release("0.3.0")).toThrow("write 0.1.1 or 0.2.0 or 1.0.0");
    expect(() => release("next")).toThrow("'next' is not a version");
  });

  test("from another branch", () => {
    commit("fix: one");
    git("switch", "--quiet", "--create", "topic");
    expect(() => release("0.1.1")).toThrow("releases are made on main, and this is topic");
  });

  test("from a tree with changes, or with files that are not committed", () => {
    commit("fix: one");
    write("new.txt", "");
    write("package.json", "{}");
    expect(() => release("0.1.1")).toThrow("commit or remove these changes first: package.json, new.txt");
  });

  test("when its tag exists on another branch", () => {
    commit("fix: one");
    git("tag", "v0.1.1");
    git("reset", "--quiet", "--hard", "HEAD~1");
    commit("fix: two");
    expect(() => release("0.1.1")).toThrow("the tag v0.1.1 exists already");
  });

  test("without commits since the last one, and without an entry in the change log", () => {
    expect(() => release("0.1.1")).toThrow("no commit since the last release");
    write("CHANGELOG.md", "# Change log\n\n## Unreleased\n\n## v0.1.0 (2026-11-25)\n");
    commit("fix: one");
    expect(() => release("0.1.1")).toThrow("is empty");
    expect(git("status", "--porcelain")).toBe("");
  });
});
