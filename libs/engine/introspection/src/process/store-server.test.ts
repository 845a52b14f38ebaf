import { once } from "node:events";
import { connect } from "node:net";
import { MessageChannel } from "node:worker_threads";
import { expect, test } from "@jest/globals";
import { silentLogger, systemClock } from "@perdure/base";
import { createStoreThread, runStoreThread } from "./store-server.js";

const entry = new URL("../../testdata/processes/store-thread.mjs", import.meta.url);
const open = (store: string) => createStoreThread({ entry, store, clock: systemClock, logger: silentLogger });

test("a thread serves the store at an address of its own, and starts once", async () => {
  await using service = open("good");
  const address = await service.address();
  expect(await service.address()).toEqual(address);
  expect(address.token).toMatch(/^[0-9a-f]{64}$/);
  const socket = connect(address.path);
  await once(socket, "connect");
  socket.destroy();
});

test("a store that does not open is reported, and tried again", async () => {
  await using service = open("broken");
  await expect(service.address()).rejects.toThrow("does not open");
  await expect(service.address()).rejects.toThrow("does not open");
});

test("disposing of what was never used is nothing", async () => {
  await open("good")[Symbol.asyncDispose]();
});

test("a thread that cannot listen closes its store", async () => {
  const { port1: port, port2 } = new MessageChannel();
  let isClosed = false;
  const store = {
    snapshot() {
      throw new Error("nothing is read");
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
    },
  };
  const data = { address: { path: "/no/such/folder/store", token: "" }, store: undefined };
  await expect(runStoreThread({ port, data, openStore: async () => store })).rejects.toMatchObject({ syscall: "listen" });
  expect(isClosed).toBe(true);
  port.close();
  port2.close();
});
