/** A program beside the cluster that ends is started again, the greeter too, as docs/operating/cluster.md describes. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { eventually } from "@perdure/conformance";
import { Record } from "@perdure/processes";
import { Greeter } from "../src/greeter.js";
import { settingsFrom } from "../src/settings.js";

const TEST_MS = 120_000;

async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  await once(server.close(), "close");
  return port;
}

test(
  "a greeter that was killed listens again, and one that was stopped does not",
  async () => {
    const directory = mkdtempSync(join(tmpdir(), "perdure-greeter-"));
    const pids: number[] = [];
    class Noted extends Record {
      override add(name: string, pid: number): ReturnType<Record["add"]> {
        pids.push(pid);
        return super.add(name, pid);
      }
    }
    const settings = settingsFrom({ PERDURE_CLUSTER_DIR: directory, GREETER_PORT: String(await freePort()) });
    const greeter = new Greeter(settings, new Noted(directory));
    let listening = 0;
    try {
      await greeter.start((text) => {
        if (text.startsWith("listening")) listening++;
      });
      expect(listening).toBe(1);
      process.kill(pids[0] as number, "SIGKILL");
      await eventually("it listens again", async () => listening === 2);
      expect(pids).toHaveLength(2);
    } finally {
      await greeter.stop();
      rmSync(directory, { recursive: true, force: true });
    }
    expect(pids).toHaveLength(2);
  },
  TEST_MS,
);
