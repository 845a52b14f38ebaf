/** The site of docs/: the same Markdown files, with navigation, offline search and a dark theme. */
import { cpSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../../..");
const docs = join(root, "docs");
// Modules of the generator are resolved from the folder of a page, so the pages must be below this package.
const copied = resolve(import.meta.dirname, "../dist/pages");
rmSync(copied, { recursive: true, force: true });
cpSync(docs, copied, { recursive: true });
// A README is the index of its folder.
for (const path of readdirSync(copied, { recursive: true })) {
  if (basename(path) === "README.md") renameSync(join(copied, path), join(copied, dirname(path), "index.md"));
}
/** Where sources are shown that the site itself does not have. */
const SOURCES = "https://github.com/perdure/perdure/blob/main";

const titleOf = (path) => /^# (.+)$/m.exec(readFileSync(join(docs, path), "utf8"))?.[1].replaceAll("`", "") ?? path;

/** Pages of a folder by title, its index first. */
function pagesOf(folder) {
  return readdirSync(join(docs, folder))
    .filter((name) => name.endsWith(".md"))
    .map((name) => ({ text: titleOf(join(folder, name)), link: `/${join(folder, name.replace("README.md", "index.md"))}` }))
    .toSorted(
      (a, b) => Number(b.link.endsWith("index.md")) - Number(a.link.endsWith("index.md")) || a.text.localeCompare(b.text),
    );
}

const section = (text, folder, collapsed = true) => ({ text, collapsed, items: pagesOf(folder) });

/** Links out of docs/ lead to the sources, and links to folders to their index. */
function projectLinks(md) {
  const open = md.renderer.rules.link_open ?? ((tokens, at, options, _env, self) => self.renderToken(tokens, at, options));
  md.renderer.rules.link_open = (tokens, at, options, env, self) => {
    const href = tokens[at].attrGet("href") ?? "";
    if (!/^[a-z]+:|^#|^\//.test(href)) {
      const [path, anchor] = href.split("#");
      const target = join("docs", env.relativePath, "..", decodeURI(path));
      if (!target.startsWith("docs/"))
        tokens[at].attrSet("href", `${SOURCES}/${target}${anchor === undefined ? "" : `#${anchor}`}`);
      else if (!/\.\w+$/.test(path)) tokens[at].attrSet("href", `${path.replace(/\/$/, "")}/index.md`);
      else tokens[at].attrSet("href", href.replace(/(^|\/)README\.md/, "$1index.md"));
    }
    return open(tokens, at, options, env, self);
  };
}

/** The rule of GitHub, so that an anchor is the same in both places. */
const slugify = (text) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\- ]/gu, "")
    .replaceAll(" ", "-");

export default {
  srcDir: "dist/pages",
  outDir: "dist/site",
  cacheDir: "node_modules/.cache",
  title: "Perdure",
  description: "Durable execution: handlers that finish, whatever crashes.",
  lang: "en",
  cleanUrls: true,
  metaChunk: true,
  ignoreDeadLinks: "localhostLinks",
  markdown: {
    anchor: { slugify },
    // Braces of paths and templates are text, not expressions of Vue.
    config: (md) => {
      projectLinks(md);
      md.core.ruler.push("no-expressions", ({ tokens }) => {
        for (const token of tokens) if (token.type === "inline" || token.type === "heading_open") token.attrSet?.("v-pre", "");
      });
    },
  },
  vue: { template: { compilerOptions: { delimiters: ["\u0001", "\u0002"] } } },
  themeConfig: {
    search: { provider: "local" },
    outline: { level: [2, 3] },
    nav: [
      { text: "Tutorials", link: "/tutorials/index.md" },
      { text: "How-to", link: "/how-to/test-handlers.md" },
      { text: "Reference", link: "/reference/index.md" },
      { text: "Concepts", link: "/concepts/index.md" },
    ],
    sidebar: [
      { text: "Index", link: "/index.md" },
      section("Tutorials", "tutorials", false),
      section("How-to guides", "how-to", false),
      section("Concepts", "concepts"),
      section("Reference", "reference"),
      { text: "Features and tools", collapsed: true, items: pagesOf(".").filter(({ link }) => link !== "/index.md") },
      section("Operating", "operating"),
      section("Protocol", "protocol"),
      section("Errors", "errors"),
      section("Runbooks", "runbooks"),
      section("Contributing", "contributing"),
      section("Decisions", "decisions"),
    ],
  },
};
