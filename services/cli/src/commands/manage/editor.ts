/** Edits settings and state as JSON in the user's editor; only what was saved is applied. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Context } from "../../context.js";
import { FAILED, USAGE } from "../../errors.js";
import { jsonOf } from "./texts.js";

/** The saved value; undefined when nothing was changed. Ends the command when it is not JSON, or there is no terminal to edit in. */
export function editJson(context: Context, name: string, value: unknown, instead: string): unknown {
  if (!context.prompts.isInteractive) context.fail(USAGE, "No terminal: cannot open an editor", instead);
  const folder = mkdtempSync(join(tmpdir(), "perdure-"));
  const file = join(folder, `${name.replace(/[^a-zA-Z0-9._-]+/g, "-").slice(0, 60)}.json`);
  const before = `${JSON.stringify(value, undefined, 2)}\n`;
  try {
    writeFileSync(file, before, { mode: 0o600 });
    const editor = context.variables.ofShell("VISUAL", "EDITOR")?.value ?? "vi";
    // Through a shell, because the variable holds a command with arguments; the file is one quoted word.
    const { status, error } = spawnSync("/bin/sh", ["-c", `${editor} "$1"`, "sh", file], { stdio: "inherit" });
    if (error !== undefined || status !== 0)
      context.fail(FAILED, `The editor '${editor}' did not work; nothing was changed`, "Set EDITOR.", error);
    const after = readFileSync(file, "utf8");
    if (after === before) return undefined;
    const edited = jsonOf(after);
    if (edited === undefined) context.fail(FAILED, "The saved text is not valid JSON; nothing was changed", "Try again.");
    return edited;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
