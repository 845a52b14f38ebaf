/** The documents as a whole: links and anchors resolve, everything is reachable, code is code that is tested, commands exist. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { anchorsOf, codeBlocksOf, documentPages, linksOf, slugOf, withFiles } from "./tree/documents.js";
import { TUTORIAL_COMMANDS } from "./tutorials/scenarios.js";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../../../..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const pages = documentPages(ROOT);

test("links within and between documents lead somewhere, to the heading that they name", () => {
  const anchors = new Map(pages.map((page) => [page, anchorsOf(read(page))]));
  const broken = pages.flatMap((page) =>
    linksOf(page, read(page))
      .filter(({ target, anchor }) => {
        if (!existsSync(join(ROOT, target))) return true;
        return anchor !== undefined && anchors.has(target) && anchors.get(target)?.has(anchor) !== true;
      })
      .map(({ target, anchor }) => `${page}: ${target}${anchor === undefined ? "" : `#${anchor}`}`),
  );
  expect(broken).toEqual([]);
});

test("every page of docs is reachable from its index", () => {
  const reached = new Set<string>();
  const open = ["docs/README.md"];
  for (let page = open.pop(); page !== undefined; page = open.pop()) {
    if (reached.has(page)) continue;
    reached.add(page);
    for (const { target } of linksOf(page, read(page))) {
      const file = target.endsWith(".md") ? target : join(target, "README.md");
      if (pages.includes(file)) open.push(file);
    }
  }
  expect(pages.filter((page) => page.startsWith("docs/") && !reached.has(page))).toEqual([]);
});

/** `make reference` writes the texts of files into the pages again. */
test("code on a page that names a file is the text of the file", () => {
  const blocks = pages.flatMap((page) => codeBlocksOf(read(page)).map((block) => ({ page, ...block })));
  const named = blocks.filter(({ file }) => file !== undefined);
  expect(named.length).toBeGreaterThan(15);
  if (process.env["PERDURE_UPDATE_DOCS"] === "1") {
    for (const page of new Set(named.map((block) => block.page))) writeFileSync(join(ROOT, page), withFiles(ROOT, read(page)));
  } else
    expect(named.filter(({ file, text }) => text !== read(file ?? "")).map(({ page, file }) => `${page}: ${file}`)).toEqual([]);
});

test("code of programs in tutorials and guides is that of files, which tests run", () => {
  // These pages show the same handler in several products, shorten one, or show calls of an interface that suites of its package make.
  const comparing = /migrate-from|debug-a-stuck|test-handlers|install-from-npm/;
  const programs = new Set(["ts", "typescript", "python", "go", "java"]);
  const untested = pages
    .filter((page) => /^docs\/(tutorials|how-to)\//.test(page) && !comparing.test(page))
    .flatMap((page) => codeBlocksOf(read(page)).map((block) => ({ page, ...block })))
    .filter(({ language, file }) => programs.has(language) && file === undefined);
  expect(untested.map(({ page, text }) => `${page}: ${text.slice(0, 60)}`)).toEqual([]);
});

const LANGUAGES = ["typescript", "python", "go", "java"];

test.each(LANGUAGES)("the tutorial in %s has the calls that its test makes", (language) => {
  const text = read(`docs/tutorials/first-service-${language}.md`) + read(`docs/tutorials/order-workflow-${language}.md`);
  expect(Object.values(TUTORIAL_COMMANDS).filter((command) => !text.includes(command))).toEqual([]);
});

/** Words after `perdure` that start a role: see `perdure --help`. */
const ROLES = new Set(["server", "gateway", "worker", "registry", "admin", "tenancy"]);

test("commands of perdure on pages exist", () => {
  const commands = new Set([...read("docs/cli.md").matchAll(/^#### `perdure ([a-z][a-z -]*[a-z])/gm)].map(([, name]) => name));
  const groups = new Set([...commands].flatMap((name = "") => (name.includes(" ") ? [name.split(" ")[0]] : [])));
  const exists = (first: string, second: string): boolean =>
    ROLES.has(first) || commands.has(groups.has(first) ? `${first} ${second}` : first);
  const wrong = pages
    .filter((page) => /^docs\/(tutorials|how-to|concepts|operating|runbooks|contributing)\//.test(page))
    .flatMap((page) =>
      codeBlocksOf(read(page))
        .filter(({ language }) => language === "sh")
        .flatMap(({ text }) => [...text.matchAll(/^perdure ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?/gm)])
        .filter(([, first = "", second = ""]) => !exists(first, second))
        .map(([command]) => `${page}: ${command}`),
    );
  expect(wrong).toEqual([]);
});

/** Why: `kubectl get events` reads events of the core API, which knows no `regarding`, and events have no labels. */
const EVENT_FIELDS =
  /^(involvedObject\.(kind|namespace|name|uid)|metadata\.(namespace|name)|reason|reportingComponent|source|type)=/;

test("commands on pages start programs that exist, and select events by fields that kubectl accepts", () => {
  const commands = pages
    .filter((page) => page.startsWith("docs/"))
    .flatMap((page) => codeBlocksOf(read(page)).filter(({ language }) => language === "sh"))
    .flatMap(({ text }) => text.split("\n"));
  const selectors = commands.flatMap((line) => /kubectl get events .*--field-selector[ =](\S+)/.exec(line)?.[1] ?? []);
  expect(selectors.length).toBeGreaterThan(2);
  expect(selectors.filter((selector) => !EVENT_FIELDS.test(selector))).toEqual([]);
  expect(commands.filter((line) => /kubectl .*get (\S+,)?events .*-l /.test(line))).toEqual([]);
  expect(commands.filter((line) => /^perdure-[a-z-]+ /.test(line))).toEqual([]);
});

function sourcesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    if (entry.isDirectory()) return ["node_modules", "dist"].includes(entry.name) ? [] : sourcesBelow(join(folder, entry.name));
    return /(?<!\.test)\.ts$/.test(entry.name) ? [join(folder, entry.name)] : [];
  });
}

test("the walk of one invocation has at most 20 hops, and names functions and methods that exist", () => {
  const rows = [...read("ARCHITECTURE.md").matchAll(/^\| \d+ \| (.+?) \|/gm)].map(([, where = ""]) => where);
  expect(rows.length).toBeGreaterThan(10);
  expect(rows.length).toBeLessThanOrEqual(20);
  const named = rows.flatMap((row) => [...row.matchAll(/`([\w.]+)`/g)].map(([, name = ""]) => name));
  const identifiers = named.filter((name) => !/\.tsx?$/.test(name)).flatMap((name) => name.split("."));
  const walked = ["libs/core", "libs/ports", "libs/engine", "libs/platform", "services/ingress-gateway"];
  const sources = walked
    .flatMap(sourcesBelow)
    .map((path) => read(path))
    .join("\n");
  const isDefined = (name: string): boolean =>
    new RegExp(`(class|interface|function) ${name}\\b|^  (async |override )*${name}[<(]`, "m").test(sources);
  expect(identifiers.filter((name) => !isDefined(name))).toEqual([]);
});

test("the architecture names every package and service, and paths that exist", () => {
  const text = read("ARCHITECTURE.md");
  const foldersOf = (folder: string): string[] =>
    readdirSync(join(ROOT, folder), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  const packages = [...foldersOf("libs").flatMap((wing) => foldersOf(join("libs", wing))), ...foldersOf("services")];
  expect(packages.length).toBeGreaterThan(50);
  expect(packages.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
  const paths = [...text.matchAll(/`((?:libs|services|proto|deploy|charts|docs)\/[\w./-]*\w)`/g)].map(([, path = ""]) => path);
  expect(paths.length).toBeGreaterThan(20);
  expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test("headings have the anchors that GitHub gives them", () => {
  expect(["`perdure server`", "Why is it stuck?", "[Limits](limits.md) of a key", "sys_node"].map(slugOf)).toEqual([
    "perdure-server",
    "why-is-it-stuck",
    "limits-of-a-key",
    "sys_node",
  ]);
});

test("a broken anchor is recognised, and code is not a link", () => {
  const text = "# A title\n\n[up](#a-title) [away](other.md#x)\n\n```md\n[no](no.md)\n```\n\n`[no](no.md)`\n";
  expect([...anchorsOf(text)]).toEqual(["a-title"]);
  expect(linksOf("docs/page.md", text)).toEqual([
    { target: "docs/page.md", anchor: "a-title" },
    { target: "docs/other.md", anchor: "x" },
  ]);
});
