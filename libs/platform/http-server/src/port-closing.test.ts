import { connect } from "node:net";
import { describe, expect, test } from "@jest/globals";
import express from "express";
import { getHttp1, getHttp2, host, open, type RequestHandlers, sayHttpVersion } from "./testing/port.js";

/** A connection that stays open; each answer ends with the requested path. */
async function kept(port: number): Promise<(path: string) => Promise<string>> {
  const socket = connect(port, host).setEncoding("latin1");
  await new Promise((resolve) => socket.on("connect", resolve));
  return (path) =>
    new Promise((resolve, reject) => {
      let text = "";
      socket.on("error", reject).on("close", () => reject(new Error("cut off")));
      socket.on("data", (chunk) => {
        text += chunk;
        if (text.endsWith(path.slice(1))) resolve(text);
      });
      socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
    });
}

describe("closing", () => {
  test("waits for running requests, over both protocols, and refuses new connections", async () => {
    const gate = Promise.withResolvers<void>();
    let waiting = 0;
    await using listener = await open({
      request: (_req, res) => {
        waiting++;
        void gate.promise.then(() => res.end("late"));
      },
    });
    const responses = [getHttp1(listener.port, "/"), getHttp2(listener.port, "/")];
    while (waiting < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    const closing = listener.server.close(10_000);
    expect(listener.server.closing).toBe(true);
    await expect(getHttp1(listener.port, "/")).rejects.toThrow("ECONNREFUSED");
    gate.resolve();
    expect((await Promise.all(responses)).map(({ text }) => text)).toEqual(["late", "late"]);
    await closing;
  });

  test.each<readonly [string, (request: RequestHandlers["request"]) => RequestHandlers["request"], RegExp]>([
    ["answers", (request) => request, /connection: close(?:.|\s)*late/i],
    // What express had begun before, it ends as it began.
    ["answers of express", (request) => express().use(request), /late/],
  ])("is announced in %s, so that a client with several requests on one connection is not cut off", async (_, made, expected) => {
    const [gate, arrived] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await using listener = await open({
      request: made((req, res) => {
        if (req.url === "/now") return void res.end("now");
        arrived.resolve();
        void gate.promise.then(() => res.end("late"));
      }),
    });
    const [busy, idle] = [await kept(listener.port), await kept(listener.port)];
    expect(await idle("/now")).toMatch(/connection: keep-alive(?:.|\s)*now/i);
    const slow = busy("/late");
    await arrived.promise;
    const closing = listener.server.close(60_000);
    expect(await idle("/now")).toMatch(/connection: close(?:.|\s)*now/i);
    gate.resolve();
    expect(await slow).toMatch(expected);
    await closing;
  });

  test("cuts requests that do not finish in time, and connections that never sent their first bytes", async () => {
    let waiting = 0;
    await using listener = await open({ request: () => waiting++ });
    const silent = connect(listener.port, host);
    const ended = new Promise((resolve) => silent.on("close", resolve));
    const response = getHttp1(listener.port, "/");
    const refused = expect(response).rejects.toThrow("socket hang up");
    while (waiting < 1) await new Promise((resolve) => setTimeout(resolve, 5));
    await listener.server.close(50);
    await refused;
    await ended;
  });

  test("is done at once without connections, and may be called twice", async () => {
    const { server } = await open(sayHttpVersion);
    await Promise.all([server.close(60_000), server.close(60_000)]);
  });
});
