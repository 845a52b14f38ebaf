/** What the README shows works as it stands there: its code is served, its commands are run, only the ports are others. */

import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { executable, ROOT } from "@perdure/dev-cluster";
import { ChildProgram } from "@perdure/processes";
import { curl, Server, TestListener, temporaryDirectory } from "../src/index.js";

const README = readFileSync(join(ROOT, "README.md"), "utf8");
const blocks = (language: string) =>
  [...README.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, "gms"))].map(([, text]) => text ?? "");
const commands = blocks("sh").flatMap((block) => block.trim().split("\n"));

/** Serves what the sample exports. */
const MAIN = `
import { serve } from "@restatedev/restate-sdk";
import * as sample from "./sample.ts";
await serve({ services: Object.values(sample), port: Number(process.argv[2]) });
console.log("listening");
`;

describe("the README", () => {
  const folder = temporaryDirectory();
  let server: Server;
  let endpoint: ChildProgram;
  const ports: Record<string, string> = {};

  beforeAll(async () => {
    server = await Server.start();
    const free = await TestListener.open(createServer(), 0);
    await free.close();
    Object.assign(ports, {
      "8080": new URL(server.ingressUrl).port,
      "9070": new URL(server.adminUrl).port,
      "9080": String(free.port),
    });
    symlinkSync(join(ROOT, "libs/testing/conformance/node_modules"), join(folder, "node_modules"));
    writeFileSync(join(folder, "sample.ts"), blocks("ts")[0] ?? "");
    writeFileSync(join(folder, "main.ts"), MAIN);
    const args = [join(folder, "main.ts"), String(free.port)];
    endpoint = await ChildProgram.start({ command: process.execPath, args, env: { PATH: process.env["PATH"] } });
    await endpoint.ready(() => endpoint.lines.includes("listening"));
  });
  afterAll(async () => {
    await endpoint.kill();
    await server[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  test("has a sample that does what its comments say, called by the commands beside it", async () => {
    const calls = commands.filter((command) => command.startsWith("curl "));
    expect(calls.length).toBeGreaterThanOrEqual(2);
    const answers: string[] = [];
    for (const command of calls) {
      const answer = await curl(command, ports);
      expect([command, answer.status < 300]).toEqual([command, true]);
      answers.push(answer.text);
    }
    expect(answers.at(-1)).toBe("5");
    for (const [handler, text] of [
      ["get", "5"],
      ["reset", ""],
      ["get", "0"],
    ] as const) {
      expect((await curl(`curl localhost:8080/Counter/alice/${handler} -d ''`, ports)).text).toBe(text);
    }
  });

  test("names make targets that exist", () => {
    const makefile = readFileSync(join(ROOT, "Makefile"), "utf8");
    for (const command of commands.filter((one) => one.startsWith("make "))) {
      expect(makefile).toContain(`\n${command.split(" ")[1]}:`);
    }
  });

  test("is right that printed settings are a settings file", async () => {
    const print = async (...args: string[]) => {
      const child = await ChildProgram.start({
        command: await executable(),
        args: ["server", "--print-config", ...args],
        env: { PATH: process.env["PATH"] },
      });
      expect((await child.exited).code).toBe(0);
      return child.lines.filter((line) => !line.startsWith("#"));
    };
    const file = join(folder, "perdure.toml");
    mkdirSync(folder, { recursive: true });
    const printed = await print("--ingress.bind-port", "8081", "--worker.cleanup-interval=90s");
    writeFileSync(file, printed.join("\n"));
    const strip = (lines: readonly string[]) => lines.map((line) => line.split("#")[0]!.trimEnd());
    expect(strip(await print("--config-file", file))).toEqual(strip(printed));
    expect(printed.join("\n")).toContain("8081");
  });
});
