import { connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { eventually } from "../eventually.js";
import { FaultyProxy, type NetworkMode } from "./faulty-proxy.js";

let server: Server;
let proxy: FaultyProxy;
let accepted: Socket[];
let received: string;
beforeEach(async () => {
  received = "";
  accepted = [];
  server = createServer((socket) => {
    accepted.push(socket);
    socket.on("data", (chunk) => {
      received += chunk.toString();
    });
    socket.on("error", () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  proxy = await FaultyProxy.before((server.address() as { port: number }).port);
});
afterEach(async () => {
  for (const socket of accepted) socket.destroy();
  await proxy[Symbol.asyncDispose]();
  await new Promise<void>((resolve) => server.close(() => resolve()));
});

function aClient(): Socket {
  const client = connect(proxy.port, "127.0.0.1");
  client.on("error", () => client.destroy());
  return client;
}

describe("a proxy in front of a port", () => {
  // Seed 201: bytes sent after the network became fast overtook bytes that were still delayed, and corrupted the stream.
  test("keeps the order of bytes, through changes of the network's mode", async () => {
    const client = aClient();
    const networks: readonly NetworkMode[] = [
      "slow",
      "whole",
      "slow",
      "silent",
      "slow",
      "mute",
      "whole",
      "deaf",
      "slow",
      "whole",
    ];
    let sent = "";
    for (const network of networks) {
      for (let n = 0; n < 5; n++) {
        const text = `${network} ${n}; `;
        sent += text;
        client.write(text);
        await delay(2);
      }
      proxy.become(network);
    }
    await eventually("everything is here", () => received.length === sent.length);
    expect(received).toBe(sent);
    client.destroy();
  });

  test("counts commits that Redis refused, for any segmentation of its replies", async () => {
    const client = aClient();
    let receivedText = "";
    client.on("data", (chunk) => (receivedText += chunk.toString()));
    await eventually("it is connected", () => accepted.length === 1);
    const replies = "+PONG\r\n:-12\r\n:3\r\n$4\r\n:-ab\r\n*2\r\n:-4\r\n:5\r\n$30\r\nnothing that is a number :-7\r\n\r\n:-9\r\n";
    for (const byte of replies) {
      accepted[0]?.write(byte);
      await new Promise(setImmediate);
    }
    await eventually("all is here", () => receivedText === replies);
    expect(proxy.refusedCommits).toBe(3);
    client.destroy();
  });

  test("delays bytes on a silent network, and refuses connections in the mode for that", async () => {
    const client = aClient();
    client.write("received; ");
    await eventually("it is received", () => received === "received; ");
    proxy.become("silent");
    client.write("later; ");
    await delay(50);
    expect(received).toBe("received; ");
    proxy.become("whole");
    await eventually("it is received", () => received === "received; later; ");
    const closed = new Promise<void>((resolve) => client.once("close", () => resolve()));
    proxy.become("refused");
    await closed;
    const refused = aClient();
    await new Promise<void>((resolve) => refused.once("close", () => resolve()));
    expect(accepted).toHaveLength(1);
  });

  test("breaks only the client's side of a connection that is half open", async () => {
    const client = aClient();
    client.write("received; ");
    await eventually("it is received", () => received === "received; ");
    const [server] = accepted as [Socket];
    const closed = new Promise<void>((resolve) => client.once("close", () => resolve()));
    proxy.become("halfOpen");
    await closed;
    await delay(50);
    expect(server.destroyed).toBe(false);
    proxy.become("whole");
    await eventually("the server's connection ends", () => server.destroyed);
  });

  test("counts negative numbers among replies", async () => {
    const client = aClient();
    client.write("x");
    await eventually("it is received", () => received === "x");
    accepted[0]?.write("*2\r\n:-7\r\n:1\r\n");
    await eventually("it is counted", () => proxy.refusedCommits === 1);
    accepted[0]?.write(":12\r\n");
    await delay(20);
    expect(proxy.refusedCommits).toBe(1);
    client.destroy();
  });
});
