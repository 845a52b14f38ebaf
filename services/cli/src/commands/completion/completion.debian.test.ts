import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "@jest/globals";
import { runShell } from "@perdure/servers";
import { Command, Option } from "commander";
import { candidates } from "./candidates.js";
import { scripts } from "./scripts.js";

const run = promisify(execFile);
/** A shell that this machine does not have is fetched first. */
const SHELL_MS = 300_000;

function program(): Command {
  const root = new Command("perdure").option("-e, --env <name>").option("--json");
  const keys = root.command("keys").alias("key");
  keys
    .command("create")
    .addOption(new Option("--role <role>").choices(["full", "ingress"]))
    .option("--force");
  keys.command("list");
  keys.command("secret", { hidden: true });
  const env = root.command("env");
  env.command("use").argument("<profile>");
  root.command("completion").addArgument(root.createArgument("<shell>").choices(["bash", "zsh"]));
  return root;
}

describe("completion", () => {
  const fits = (...words: string[]) => candidates(program(), words, () => ["local", "dev"]);

  test("offers commands, flags and values that fit", () => {
    expect(fits("k")).toEqual(["keys"]);
    expect(fits("keys", "")).toEqual(["create", "list", "help"]);
    expect(fits("key", "l")).toEqual(["list"]);
    expect(fits("keys", "create", "--r")).toEqual(["--role"]);
    expect(fits("keys", "create", "--")).toEqual(["--role", "--force", "--env", "--json", "--help"]);
    expect(fits("keys", "create", "--role", "")).toEqual(["full", "ingress"]);
    expect(fits("-e", "d")).toEqual(["dev"]);
    expect(fits("-e", "dev", "keys", "c")).toEqual(["create"]);
    expect(fits("env", "use", "")).toEqual(["local", "dev"]);
    expect(fits("completion", "z")).toEqual(["zsh"]);
    expect(fits("nothing", "x")).toEqual([]);
  });

  test("bash asks the program and takes its answer", async () => {
    const program = 'perdure() { printf "%s\\n" "$@" >&2; printf "use\\nundelete\\n"; }';
    const press = 'COMP_WORDS=(perdure env "u"); COMP_CWORD=2; _perdure; declare -p COMPREPLY';
    const { stdout } = await run("bash", ["-c", `${program}\n${scripts.bash}\n${press}`]);
    expect(stdout).toBe('declare -a COMPREPLY=([0]="use" [1]="undelete")\n');
  });

  test(
    "zsh does the same, and from the first Tab on where it reads the file only then",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "perdure-zfunc-"));
      try {
        const file = join(folder, "_perdure");
        writeFileSync(file, scripts.zsh);
        const asked = [
          'perdure() { print -l -- "asked: $*" >&3; print -l use undelete; }',
          'compadd() { print -r -- "offered: $*" }',
          'compdef() { print -r -- "is for: $*" }',
          "words=(perdure env u more); CURRENT=3",
        ].join("\n");
        const press = "_perdure 3>&1";
        const told = "asked: __complete -- env u\noffered: -- use undelete\n";
        expect(await runShell("zsh", `${asked}\nsource ${file}\n${press}`)).toBe(`is for: _perdure perdure\n${told}`);
        expect(await runShell("zsh", `${asked}\nfpath=(${folder})\nautoload -U _perdure\n${press}\n${press}`)).toBe(told + told);
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
