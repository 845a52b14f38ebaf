/** Files on disk survive every end of a process, and several processes. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "@jest/globals";
import { systemClock } from "@perdure/base";
import { readText, writeTextAtomically } from "./atomic-file.js";
import { withLock } from "./file-lock.js";

const folder = mkdtempSync(join(tmpdir(), "perdure-files-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);

describe("a file that is replaced at once", () => {
  test("is the user's alone, whatever it was before, and a link keeps leading to it", () => {
    writeFileSync(at("real"), "old");
    chmodSync(at("real"), 0o644);
    symlinkSync(at("real"), at("link"));
    writeTextAtomically(at("link"), "new");
    expect([readFileSync(at("real"), "utf8"), statSync(at("real")).mode & 0o777]).toEqual(["new", 0o600]);
    writeTextAtomically(at("below/deeper/made"), "made");
    expect(statSync(at("below/deeper")).mode & 0o777).toBe(0o700);
  });

  test("is the old one when its writer is killed, and the next writer clears up", async () => {
    const path = at("killed");
    // Writes large files repeatedly; it is killed as soon as a new file is beside the original.
    const module = fileURLToPath(new URL("./atomic-file.ts", import.meta.url));
    const program = `
      const { writeTextAtomically } = await import(${JSON.stringify(module)});
      const text = "x".repeat(64 * 1024 * 1024);
      process.stdout.write("go");
      writeTextAtomically(${JSON.stringify(path)}, text);`;
    const isKilledInTheMiddle = async (): Promise<boolean> => {
      writeFileSync(path, "old");
      const writer = spawn(process.execPath, ["--no-warnings", "--input-type=module", "-e", program], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const ended = once(writer, "exit");
      await once(writer.stdout, "data");
      while (!existsSync(`${path}.perdure-new`) && writer.exitCode === null) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      writer.kill("SIGKILL");
      await ended;
      return existsSync(`${path}.perdure-new`);
    };
    // A writer that was done before it could be killed is followed by another.
    while (!(await isKilledInTheMiddle()));
    expect(readFileSync(path, "utf8")).toBe("old");
    writeTextAtomically(path, "newer");
    expect([readFileSync(path, "utf8"), readdirSync(folder).filter((name) => name.startsWith("killed"))]).toEqual([
      "newer",
      ["killed"],
    ]);
  });

  test("one that is too large is not read, and one that is not there is nothing", () => {
    writeFileSync(at("large"), "12345");
    expect(() => readText(at("large"), 4)).toThrow("5 bytes");
    expect([readText(at("large"), 5), readText(at("nothing"), 5)]).toEqual(["12345", undefined]);
  });
});

describe("a lock", () => {
  test("lets one in at a time, in whatever order, and is gone afterwards", async () => {
    let inside = 0;
    let most = 0;
    const enter = () =>
      withLock(at("lock"), systemClock, async () => {
        most = Math.max(most, ++inside);
        await new Promise((resolve) => setImmediate(resolve));
        inside--;
      });
    await Promise.all(Array.from({ length: 8 }, enter));
    expect([most, readText(at("lock"), 100)]).toEqual([1, undefined]);
    await expect(withLock(at("lock"), systemClock, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(readText(at("lock"), 100)).toBeUndefined();
  });

  test("of a killed process is removed; of a running one it is awaited, up to a bound", async () => {
    const child = spawn(process.execPath, ["-e", ""]);
    await new Promise((resolve) => child.once("exit", resolve));
    const { hostname } = await import("node:os");
    writeFileSync(at("dead"), `${child.pid} ${hostname()} 1\n`);
    expect(await withLock(at("dead"), systemClock, async () => "in")).toBe("in");

    writeFileSync(at("held"), `${process.pid} ${hostname()} 1\n`);
    let aheadMs = 0;
    const clock = {
      nowMs: () => systemClock.nowMs(),
      monotonicMs: () => aheadMs,
      setTimer: (ms: number, fire: () => void) => {
        aheadMs += ms;
        const timer = setImmediate(fire);
        return { cancel: () => clearImmediate(timer) };
      },
    };
    await expect(withLock(at("held"), clock, async () => "in")).rejects.toThrow("Another perdure holds");
    expect(aheadMs).toBeGreaterThan(29_000);
  });
});
