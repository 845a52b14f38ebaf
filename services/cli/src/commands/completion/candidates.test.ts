import { expect, test } from "@jest/globals";
import { Command, Option } from "commander";
import { candidates, globalValue } from "./candidates.js";

function program(): Command {
  const root = new Command("perdure").option("-e, --env <name>").option("--json");
  const keys = root.command("keys").alias("key");
  keys
    .command("create")
    .addOption(new Option("--role <role>").choices(["full", "ingress"]))
    .option("--force");
  keys.command("list");
  keys.command("secret", { hidden: true });
  root.command("env").command("use").argument("<profile>");
  const invocations = root.command("invocations").alias("inv");
  invocations.command("list").option("--status <statuses>").option("-s, --service <name>");
  invocations.command("resume").argument("[ids...]");
  invocations.command("describe").argument("<id>");
  root.command("state").command("get").argument("<service>").argument("<key>").argument("[name]");
  root.command("schedules").command("create").argument("<name>").argument("<timetable>").argument("<target>");
  root.command("completion").addArgument(root.createArgument("<shell>").choices(["bash", "zsh"]));
  return root;
}

/** The expected look-up: the slot, the arguments before it, and the beginning of the value. */
const fits = (...tokens: string[]) =>
  candidates(program(), tokens, async (slot, parents, last) => [`${last}<${[slot, ...parents].join(" of ")}>`]);

test("commands, flags and fixed values come from the program itself", async () => {
  expect(await fits("k")).toEqual(["keys"]);
  expect(await fits("keys", "")).toEqual(["create", "list", "help"]);
  expect(await fits("key", "l")).toEqual(["list"]);
  expect(await fits("keys", "create", "--r")).toEqual(["--role"]);
  expect(await fits("keys", "create", "--")).toEqual(["--role", "--force", "--env", "--json", "--help"]);
  expect(await fits("keys", "create", "--role", "")).toEqual(["full", "ingress"]);
  expect(await fits("-e", "dev", "keys", "c")).toEqual(["create"]);
  expect(await fits("completion", "z")).toEqual(["zsh"]);
  expect(await fits("completion", "zsh", "")).toEqual([]);
  expect(await fits("nothing", "x")).toEqual([]);
});

test("names are looked up by the meaning of the argument or the flag", async () => {
  expect(await fits("-e", "d")).toEqual(["d<profile>"]);
  expect(await fits("env", "use", "")).toEqual(["<profile>"]);
  expect(await fits("inv", "list", "-s", "Gr")).toEqual(["Gr<service>"]);
  expect(await fits("invocations", "describe", "inv_1")).toEqual(["inv_1<invocation>"]);
  expect(await fits("invocations", "resume", "inv_a", "inv_b", "")).toEqual(["<invocationPaused of inv_a of inv_b>"]);
  expect(await fits("state", "get", "Cart", "a")).toEqual(["a<key of Cart>"]);
  expect(await fits("schedules", "create", "--json", "")).toEqual([]);
  expect(await fits("schedules", "create", "nightly", "@daily", "De")).toEqual(["De<target of nightly of @daily>"]);
});

test("statuses are completed one by one, with commas between them", async () => {
  expect(await fits("invocations", "list", "--status", "pa")).toEqual(["paused"]);
  expect(await fits("invocations", "list", "--status", "running,pa")).toEqual(["running,paused"]);
});

test("a value behind = is completed, as one word or as the three of bash", async () => {
  expect(await fits("invocations", "list", "--status=running,pa")).toEqual(["--status=running,paused"]);
  expect(await fits("invocations", "list", "--status", "=", "pa")).toEqual(["paused"]);
  expect(await fits("invocations", "list", "--service", "=")).toEqual(["<service>"]);
  expect(await fits("keys", "create", "--role=", "")).toEqual([]);
});

test("the environment may be chosen anywhere before", () => {
  expect(globalValue(["-e", "dev", "call", ""], "--env", "-e")).toBe("dev");
  expect(globalValue(["call", "--env=dev", ""], "--env", "-e")).toBe("dev");
  expect(globalValue(["--env", "=", "dev", "call", ""], "--env", "-e")).toBe("dev");
  expect(globalValue(["call", "--env", "d"], "--env", "-e")).toBeUndefined();
  expect(globalValue(["call", ""], "--env", "-e")).toBeUndefined();
});
