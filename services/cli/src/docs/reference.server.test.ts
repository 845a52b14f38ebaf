import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { systemClock } from "@perdure/base";
import { createProgram } from "../program.js";
import { Variables } from "../variables.js";
import { commandReference, globalFlags } from "./reference.js";

const PAGE = fileURLToPath(new URL("../../../../docs/cli.md", import.meta.url));

/** The page with the text between two markers replaced. */
function filled(page: string, name: string, text: string): string {
  const [begin, end] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`docs/cli.md has no ${begin} … ${end}`);
  return `${page.slice(0, from + begin.length)}\n\n${text}\n${page.slice(to)}`;
}

/** `PERDURE_UPDATE_DOCS=1 make test FILTER=services/cli/src/docs` writes the page again. */
test("docs/cli.md has all commands and flags as they are", () => {
  const nothing = { write: () => true };
  const { command } = createProgram(
    {
      variables: new Variables({}),
      clock: systemClock,
      stdin: process.stdin,
      stdout: nothing,
      stderr: nothing,
      signal: new AbortController().signal,
      fetch,
    },
    "0",
  );
  const page = readFileSync(PAGE, "utf8");
  const expected = filled(filled(page, "flags", globalFlags(command)), "commands", commandReference(command));
  if (process.env["PERDURE_UPDATE_DOCS"] === "1") writeFileSync(PAGE, expected);
  else expect(page).toBe(expected);
});
