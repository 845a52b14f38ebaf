/** Reads the project's Markdown: links, headings, code blocks, and blocks whose text is that of a file. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

const ROOT_PAGES: readonly string[] = [
  "README.md",
  "CONTRIBUTING.md",
  "ARCHITECTURE.md",
  "CHANGELOG.md",
  "CODE_OF_CONDUCT.md",
  "SECURITY.md",
  "SUPPORT.md",
  "charts/perdure/README.md",
];

/** Paths of all pages below `root`, relative to it. */
export function documentPages(root: string): readonly string[] {
  const docs = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" });
  const pages = docs.filter((path) => path.endsWith(".md") && !path.includes("node_modules")).map((path) => join("docs", path));
  return [...ROOT_PAGES, ...pages].toSorted();
}

export interface DocumentLink {
  /** Path of the target relative to the root; for a link within a page the page itself. */
  readonly target: string;
  /** Without `#`; undefined when there is none. */
  readonly anchor: string | undefined;
}

/** Links to other files of the project, and within the page. Code is left out. */
export function linksOf(page: string, text: string): readonly DocumentLink[] {
  return [...withoutCode(text).matchAll(/\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]*))?\)/g)].map(([, path = "", anchor]) => ({
    target: path === "" ? page : normalize(join(dirname(page), path)),
    anchor,
  }));
}

function withoutCode(text: string): string {
  return text.replace(/^( *)(```|~~~).*?^\1\2[^\n]*$/gms, "").replace(/`[^`\n]+`/g, "`code`");
}

/** Anchors of the headings of a page, as GitHub and VitePress make them for the headings that are used here. */
export function anchorsOf(text: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  const withoutBlocks = text.replace(/^( *)(```|~~~).*?^\1\2[^\n]*$/gms, "");
  for (const [, heading = ""] of withoutBlocks.matchAll(/^#{1,6} +(.+?) *$/gm)) {
    const anchor = slugOf(heading);
    let name = anchor;
    for (let i = 1; anchors.has(name); i++) name = `${anchor}-${i}`;
    anchors.add(name);
  }
  return anchors;
}

/** The rule of GitHub: lower case, letters, digits, `_` and `-` stay, blanks become `-`. */
export function slugOf(heading: string): string {
  return heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\- ]/gu, "")
    .replaceAll(" ", "-");
}

export interface CodeBlock {
  readonly language: string;
  readonly text: string;
  /** Path of the file whose text it is: a comment `<!-- file: path -->` is above it. */
  readonly file: string | undefined;
}

const BLOCK = /(?:^<!-- file: (\S+) -->\n)?^```(\w*)[^\n]*\n(.*?)^```$/gms;

export function codeBlocksOf(text: string): readonly CodeBlock[] {
  return [...text.matchAll(BLOCK)].map(([, file, language = "", code = ""]) => ({ language, text: code, file }));
}

/** The page with the present text of the files in its blocks. */
export function withFiles(root: string, text: string): string {
  return text.replace(BLOCK, (whole, file: string | undefined, language: string) =>
    file === undefined ? whole : `<!-- file: ${file} -->\n\`\`\`${language}\n${readFileSync(join(root, file), "utf8")}\`\`\``,
  );
}
