/** A program of the cluster that ends is started again, the greeter too, as docs/operating/cluster.md describes. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { eventually } from "@perdure/conformance";
import { ROOT } from "@perdure/dev-cluster";
import { greeterListens, startGreeter } from "@perdure/example-greeter/demo/greeter-program";
import { ProcessGroup, Record } from "@perdure/processes";
import { freePorts } from "@perdure/servers";

const TEST_MS = 120_000;

test(
  "a greeter that was killed listens again, and one that was stopped does not",
  async () => {
    const directory = mkdtempSync(join(tmpdir(), "perdure-greeter-"));
    const listed = () => JSON.parse(readFileSync(join(directory, "running.json"), "utf8")) as { name: string; pid: number }[];
    const [port] = (await freePorts(1)) as [number];
    const group = new ProcessGroup(new Record(directory));
    const stopWatching = new AbortController();
    const reports: string[] = [];
    let listening = 0;
    const greeter = await startGreeter({
      root: ROOT,
      port,
      onLine: (text) => {
        if (text.startsWith("listening")) listening++;
      },
    });
    group.keep("greeter", "work", greeter);
    const watching = group.watch(stopWatching.signal, (text) => reports.push(text));
    try {
      await greeterListens(greeter);
      const first = greeter.pid;
      process.kill(first, "SIGKILL");
      await eventually("it listens again", async () => listening === 2);
      expect(reports).toEqual(["greeter ended by itself; starting it again"]);
      expect(greeter.pid).not.toBe(first);
      expect(listed()).toEqual([expect.objectContaining({ name: "greeter", pid: greeter.pid })]);
    } finally {
      stopWatching.abort();
      await watching;
      await group.stop();
      rmSync(directory, { recursive: true, force: true });
    }
    expect([greeter.isRunning, listening]).toEqual([false, 2]);
  },
  TEST_MS,
);
