import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, describe, expect, test } from "@jest/globals";
import { ChildProgram, runningPrograms } from "./child-program.js";
import { startOf } from "./record.js";

const folder = mkdtempSync(join(tmpdir(), "perdure-child-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const script = (body: string) => ({ name: "the program", command: process.execPath, args: ["-e", body] });
const IDLE = "console.log('up ' + process.pid); setInterval(() => {}, 1000)";
const isUp = (program: ChildProgram) => () => program.lines.some((line) => line.startsWith("up"));
/** Resolves when no process has the id. The output of a killed process ends a moment before the process does. */
const gone = async (pid: number): Promise<void> => {
  while (startOf(pid) !== undefined) await delay(10);
};
/** Ends by SIGKILL only. */
const STUBBORN = `process.on("SIGTERM", () => console.log("refused")); ${IDLE}`;

describe("a child program", () => {
  test("keeps the lines of both outputs, and resolves with its exit when all of them were read", async () => {
    const lines: string[] = [];
    const body = "console.log('one'); console.error('two'); process.exitCode = 3";
    const program = await ChildProgram.start({ ...script(body), onLine: (line) => lines.push(line) });
    expect(await program.exited).toEqual({ code: 3, signal: null });
    expect(program.lines.toSorted()).toEqual(["one", "two"]);
    expect(lines.toSorted()).toEqual(["one", "two"]);
    expect([program.isRunning, program.exit]).toEqual([false, { code: 3, signal: null }]);
  });

  test("gets only the variables that it is given", async () => {
    const program = await ChildProgram.start({ ...script("console.log(Object.keys(process.env).join())"), env: { ONLY: "1" } });
    await program.exited;
    expect(program.lines).toEqual(["ONLY"]);
  });

  test("is ready with the value of the check, and an end before that rejects with its last lines", async () => {
    const program = await ChildProgram.start(script(IDLE));
    expect(await program.ready(() => program.lines.find((line) => line.startsWith("up")))).toBe(`up ${program.pid}`);
    await program.kill();
    const failing = await ChildProgram.start(script("console.error('no such table'); process.exit(1)"));
    await expect(failing.ready(() => false)).rejects.toThrow("the program ended before it was ready:\nno such table");
  });

  test("that does not get ready in time stays, and the error has its output", async () => {
    const program = await ChildProgram.start(script(IDLE));
    await program.ready(isUp(program));
    await expect(program.ready(() => undefined, 50)).rejects.toThrow(`the program was not ready in 50 ms:\nup ${program.pid}`);
    expect(program.isRunning).toBe(true);
    await program.kill();
  });

  test("rejects when the command does not exist", async () => {
    await expect(ChildProgram.start({ command: join(folder, "nothing") })).rejects.toThrow("ENOENT");
  });

  test("is killed when it ignores the request to end", async () => {
    const program = await ChildProgram.start(script(STUBBORN));
    await program.ready(isUp(program));
    program.signal("SIGTERM");
    await program.ready(() => program.lines.includes("refused"));
    expect(await program.stop({ withinMs: 50 })).toEqual({ code: null, signal: "SIGKILL" });
  });

  test("continues when it is frozen, and handles the request to end", async () => {
    const program = await ChildProgram.start(script(IDLE));
    await program.ready(isUp(program));
    program.signal("SIGSTOP");
    expect(await program.stop()).toEqual({ code: null, signal: "SIGTERM" });
  });

  test("is signalled together with its children", async () => {
    const body = `const child = require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(IDLE)}], { stdio: "inherit" });`;
    const program = await ChildProgram.start(script(body));
    await program.ready(isUp(program));
    const child = Number(program.lines[0]?.slice("up ".length));
    expect(child).not.toBe(program.pid);
    await program.kill();
    await gone(child);
  });

  test("starts again with the options that changed, and discards the output of the process before", async () => {
    const program = await ChildProgram.start(script("console.log('first')"));
    await expect(program.startAgain()).rejects.toThrow("the program is still running");
    await program.exited;
    await program.startAgain({ args: ["-e", "console.log('second')"] });
    await program.exited;
    expect(program.lines).toEqual(["second"]);
  });

  test("with a log file appends to it, and `lines` has what the present process wrote", async () => {
    const logFile = join(folder, "program.log");
    const program = await ChildProgram.start({ ...script("console.log('first')"), logFile });
    await program.exited;
    await program.startAgain({ args: ["-e", IDLE] });
    await program.ready(isUp(program));
    expect(program.lines).toEqual([`up ${program.pid}`]);
    expect(readFileSync(logFile, "utf8")).toBe(`first\nup ${program.pid}\n`);
    await program.stop();
  });

  test("is counted until it has ended", async () => {
    const program = await ChildProgram.start(script(IDLE));
    expect(runningPrograms().has(program.pid)).toBe(true);
    await program.kill();
    expect(runningPrograms().has(program.pid)).toBe(false);
  });
});

describe("when the parent ends", () => {
  const parentOf = (options: string) => `
    const { ChildProgram } = await import(${JSON.stringify(new URL("./child-program.ts", import.meta.url).href)});
    const child = await ChildProgram.start({ command: process.execPath, args: ["-e", ${JSON.stringify(IDLE)}], ...${options} });
    await child.ready(() => child.lines.length > 0);
    console.log(child.pid);
    process.exit(0);
  `;
  const childOf = async (options: string): Promise<number> => {
    const args = ["--no-warnings", "--input-type=module", "-e", parentOf(options)];
    const parent = await ChildProgram.start({ command: process.execPath, args });
    await parent.exited;
    return Number(parent.lines.at(-1));
  };

  test("a program whose output is read ends too, and one with a log file continues", async () => {
    const ended = await childOf("{}");
    await gone(ended);
    const continued = await childOf(JSON.stringify({ logFile: join(folder, "orphan.log") }));
    expect(startOf(continued)).toBeDefined();
    process.kill(continued, "SIGKILL");
  });
});
