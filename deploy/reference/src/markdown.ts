/** Markdown of generated pages: every page says that it is generated, and how. */

const GENERATED = "<!-- Generated from the code by `make reference`. Do not edit. -->";

export interface Page {
  /** File name in `docs/reference`. */
  readonly name: string;
  readonly text: string;
}

/** A page that begins with its title and ends in one newline. */
export function page(name: string, title: string, blocks: readonly string[]): Page {
  return { name, text: `${[`# ${title}`, GENERATED, ...blocks].join("\n\n").trimEnd()}\n` };
}

/** A table; cells are Markdown. Empty without rows. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return "";
  return [heads, heads.map(() => "---"), ...rows].map((cells) => `| ${cells.map(cell).join(" | ")} |`).join("\n");
}

/** A bar would end the cell, and a line break the row. */
function cell(text: string): string {
  return text.replace(/\s*\n\s*/g, " ").replaceAll("|", "\\|");
}

export function code(text: string): string {
  return `\`${text}\``;
}

/** Texts of the code in prose: characters that Markdown and the site's templates would read stay as they are. */
export function prose(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part, i) => (i % 2 === 1 ? part : part.replace(/[<>*{}]/g, escaped).replace(/(?<=\s|^)_|_(?=\s|$)/g, "\\_")))
    .join("");
}

function escaped(character: string): string {
  return character === "<" ? "&lt;" : character === ">" ? "&gt;" : `\\${character}`;
}
