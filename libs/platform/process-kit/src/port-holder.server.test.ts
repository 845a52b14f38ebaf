import { type AddressInfo, createServer } from "node:net";
import { describe, expect, test } from "@jest/globals";
import { holderOf, isPortFree, listeningInodes } from "./port-holder.js";

describe("a port", () => {
  test("that is in use has a holder with a name", async () => {
    const listener = createServer();
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
    const { port } = listener.address() as AddressInfo;
    expect(await isPortFree(port)).toBe(false);
    expect(holderOf(port)).toMatchObject({
      pid: process.pid,
      command: expect.stringContaining("node"),
      folder: process.cwd(),
    });
    await new Promise((resolve) => listener.close(resolve));
    expect(await isPortFree(port)).toBe(true);
    expect(holderOf(port)).toBeUndefined();
  });

  test("is found in the system's table among those that listen", () => {
    const table = [
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
      "   0: 0100007F:2378 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4242 1 x",
      "   1: 0100007F:2378 0100007F:9999 01 00000000:00000000 00:00000000 00000000  1000        0 4343 1 x",
      "   2: 0100007F:9999 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4444 1 x",
    ].join("\n");
    expect(listeningInodes(table, 0x2378)).toEqual(["4242"]);
  });
});
