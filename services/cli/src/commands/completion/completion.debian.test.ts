import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "@jest/globals";
import { runShell } from "@perdure/servers";
import { scripts } from "./scripts.js";

const run = promisify(execFile);
/** Installs a shell that this machine does not have. */
const SHELL_MS = 300_000;

describe("completion", () => {
  test("bash calls the program and uses its candidates", async () => {
    const program = 'perdure() { printf "%s\\n" "$@" >&2; printf "use\\nundelete\\n"; }';
    const press = 'COMP_WORDS=(perdure env "u"); COMP_CWORD=2; _perdure; declare -p COMPREPLY';
    const { stdout } = await run("bash", ["-c", `${program}\n${scripts.bash}\n${press}`]);
    expect(stdout).toBe('declare -a COMPREPLY=([0]="use" [1]="undelete")\n');
  });

  test("bash adds no space behind the only candidate when more of the word follows", async () => {
    const press = 'compopt() { echo "compopt $*"; }; COMP_WORDS=(perdure call ""); COMP_CWORD=2; _perdure';
    const offers = async (text: string) =>
      (await run("bash", ["-c", `perdure() { printf "${text}"; }\n${scripts.bash}\n${press}`])).stdout;
    expect(await offers("Counter/\\n")).toBe("compopt -o nospace\n");
    expect(await offers("Greeter/greet\\n")).toBe("");
    expect(await offers("Counter/\\nGreeter/greet\\n")).toBe("");
  });

  test(
    "zsh does the same, and from the first Tab on where it reads the file only then",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "perdure-zfunc-"));
      try {
        const file = join(folder, "_perdure");
        writeFileSync(file, scripts.zsh);
        const stubScript = [
          'perdure() { print -l -- "called: $*" >&3; print -l use undelete; }',
          'compadd() { print -r -- "offered: $*" }',
          'compdef() { print -r -- "is for: $*" }',
          "words=(perdure env u more); CURRENT=3",
        ].join("\n");
        const press = "_perdure 3>&1";
        const expected = "called: __complete -- env u\noffered: -- use undelete\n";
        expect(await runShell("zsh", `${stubScript}\nsource ${file}\n${press}`)).toBe(`is for: _perdure perdure\n${expected}`);
        const objects = stubScript.replace("use undelete", "Greeter/greet Counter/");
        expect(await runShell("zsh", `${objects}\nsource ${file}\n${press}`)).toBe(
          "is for: _perdure perdure\ncalled: __complete -- env u\noffered: -- Greeter/greet\noffered: -S  -- Counter/\n",
        );
        expect(await runShell("zsh", `${stubScript}\nfpath=(${folder})\nautoload -U _perdure\n${press}\n${press}`)).toBe(
          expected + expected,
        );
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
    SHELL_MS,
  );

  test(
    "so does fish",
    async () => {
      const program = "function perdure; test \"$argv\" = '__complete -- env u'; and printf 'use\\nundelete\\n'; end";
      const press = 'complete -C"perdure env u" | sort';
      expect(await runShell("fish", `${program}\n${scripts.fish}\n${press}`)).toBe("undelete\nuse\n");
    },
    SHELL_MS,
  );
});
