/** `perdure errors`: prints the page of an error code, without network or checkout. */
import { readFile } from "node:fs/promises";
import { catalogue, type ErrorCode, isErrorCode } from "@perdure/base/errors";
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { USAGE } from "../../errors.js";

export function register(program: Command, context: Context): void {
  program
    .command("errors")
    .helpGroup("More:")
    .argument("[code]", "such as META0003; by default all codes are listed")
    .description("explain an error code: what happened, why, and what to do")
    .action(async (code: string | undefined) => (code === undefined ? list(context) : await show(context, code)));
}

function list({ output }: Context): void {
  const errors = Object.entries(catalogue).map(([code, { title }]) => ({ code, title }));
  output.result({ errors }, () =>
    output.table(
      [
        { title: "CODE", show: ({ code }) => code },
        { title: "DESCRIPTION", cutTo: 20, show: ({ title }) => title },
      ],
      errors,
      "No codes.",
    ),
  );
}

async function show(context: Context, text: string): Promise<void> {
  const code = text.toUpperCase();
  if (!isErrorCode(code))
    return context.fail(USAGE, `'${text}' is not an error code of Perdure`, "perdure errors lists all codes.");
  const page = await pageOf(code);
  const { output } = context;
  output.result({ code, title: catalogue[code].title, page }, () => output.raw(withoutLinks(page)));
}

/** The build copies `docs/errors` beside the bundle; without a bundle, the source tree has them. */
async function pageOf(code: ErrorCode): Promise<string> {
  const read = (path: string) => readFile(new URL(`${path}/${code}.md`, import.meta.url), "utf8");
  return await read("./errors").catch(() => read("../../../../../docs/errors"));
}

/** Link targets are files of the documentation, which is not here; links between codes have the code as their text. */
function withoutLinks(markdown: string): string {
  return markdown.replace(/\[([^\]]+)\]\((?!https?:)[^)]*\)/g, "$1");
}
