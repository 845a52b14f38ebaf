import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "@jest/globals";
import { Command, Option } from "commander";
import { candidates } from "./candidates.js";
import { scripts } from "./scripts.js";

const run = promisify(execFile);

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
});
