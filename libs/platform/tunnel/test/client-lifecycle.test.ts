/** How a tunnel client connects, drains, connects again and ends. */
import { createServer as createHttp1, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttp2, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import type { Readable } from "node:stream";
import { describe, expect, test } from "@jest/globals";
import { handleErrors } from "@perdure/base";
import { type ClientTunnel, DRAIN_PATH, HEALTH_PATH, HTTP_VERSION_HEADER } from "../src/index.js";
import { aLocal, aTunnel, letIn, signed } from "./client-world.js";
import { answerOf, type FakeConnection, FakeRelay, open, request } from "./fake-relay.js";

describe("the lifecycle", () => {
  test("health is answered", async () => {
    await using relay = await FakeRelay.open(letIn);
    await using _open = aTunnel(relay);
    expect(await request(await relay.next(), HEALTH_PATH)).toMatchObject({ status: 200, body: "" });
  });

  test("a connection that drains is replaced at once, and its requests finish", async () => {
    await using relay = await FakeRelay.open(letIn);
    await using local = await aLocal();
    await using tunnel = aTunnel(relay, { locals: [{ tunnelPort: 1, host: "127.0.0.1", port: local.port }] });
    const first = await relay.next();
    const running = open(first.session, "/http/localhost/1/x", signed("/x"));
    running.write("begun ");
    await new Promise((resolve) => running.once("response", resolve));
    expect((await request(first, DRAIN_PATH)).status).toBe(200);
    const second = await relay.next();
    expect(second.hello["tunnel-connection-id"]).not.toBe(first.hello["tunnel-connection-id"]);
    const answer = answerOf(running);
    running.end("and done");
    first.session.close();
    await answer.catch(() => undefined); // It was answered before this listener was added: only the body counts.
    expect((await request(second, "/http/localhost/1/x", signed("/x"), "more")).body).toBe("more");
    expect(tunnel.events.map(({ kind }) => kind)).toContain("draining");
  });

  test("a broken connection is opened again", async () => {
    await using relay = await FakeRelay.open(letIn);
    await using tunnel = aTunnel(relay);
    (await relay.next()).socket.destroy();
    const again = await relay.next();
    expect(await request(again, HEALTH_PATH)).toMatchObject({ status: 200 });
    expect(tunnel.events.map(({ kind }) => kind)).toContain("disconnected");
  });

  test("closing waits for requests in flight, refuses late ones, and leaves no connection", async () => {
    await using relay = await FakeRelay.open(letIn);
    await using local = await aLocal();
    const { tunnel } = aTunnel(relay, { locals: [{ tunnelPort: 1, host: "127.0.0.1", port: local.port }] });
    const { session, socket } = await relay.next();
    const running = open(session, "/http/localhost/1/x", signed("/x"));
    const answer = answerOf(running);
    running.write("begun ");
    await new Promise((resolve) => running.once("response", resolve));
    const goaway = new Promise((resolve) => session.once("goaway", resolve));
    const closed = tunnel.close();
    await goaway;
    running.end("and done");
    expect((await answer).body).toBe("begun and done");
    await closed;
    expect(await tunnel.ended).toEqual({ kind: "closed" });
    if (!socket.destroyed) await new Promise((resolve) => socket.once("close", resolve));
  });

  describe("half a request does not pass for a whole one when", () => {
    /** The bytes that a service receives of a request whose body is never complete. */
    async function halfARequest(
      version: "h1" | "h2",
      breaking: (tunnel: ClientTunnel, connection: FakeConnection) => Promise<void> | void,
    ) {
      const states: string[] = [];
      const closed = Promise.withResolvers<void>();
      const received = (body: Readable, isWhole: () => boolean): void => {
        handleErrors(body);
        body.on("data", (chunk: Buffer) => states.push(chunk.toString()));
        body.on("end", () => states.push(isWhole() ? "end" : "cut"));
        body.on("close", () => closed.resolve());
      };
      const server = version === "h2" ? createHttp2() : createHttp1();
      if (version === "h2") {
        server.on("stream", (stream: ServerHttp2Stream) => {
          stream.respond({ ":status": 200 });
          received(stream, () => true);
        });
      } else {
        server.on("request", (request: IncomingMessage, response: ServerResponse) => {
          response.writeHead(200).flushHeaders();
          received(request, () => request.complete);
        });
      }
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address() as AddressInfo;
      await using relay = await FakeRelay.open(letIn);
      const { tunnel } = aTunnel(relay, { locals: [{ tunnelPort: 1, host: "127.0.0.1", port }], drainMs: 50 });
      const connection = await relay.next();
      const protocol = version === "h1" ? { [HTTP_VERSION_HEADER]: "HTTP/1.1" } : undefined;
      const request = open(connection.session, "/http/localhost/1/x", { ...signed("/x"), ...protocol });
      handleErrors(request);
      request.write("half");
      await new Promise((resolve) => request.once("response", resolve));
      await breaking(tunnel, connection);
      await closed.promise;
      await tunnel.close();
      server.close();
      return states;
    }

    test.each(["h1", "h2"] as const)("the tunnel is closed and it does not finish in time, over %s", async (version) => {
      expect(await halfARequest(version, (tunnel) => tunnel.close())).toEqual(["half"]);
    });

    test.each(["h1", "h2"] as const)("the connection to the relay breaks, over %s", async (version) => {
      expect(await halfARequest(version, (_tunnel, { socket }) => void socket.destroy())).toEqual(["half"]);
    });
  });

  test.each([
    ["resets it", (stream: ServerHttp2Stream) => stream.destroy(new Error("broken"))],
    ["loses its connection", (stream: ServerHttp2Stream) => stream.session?.socket.destroy()],
  ])("half an answer does not pass for a whole one when the local service %s", async (_how, breakIt) => {
    const server = createHttp2();
    server.on("stream", (stream: ServerHttp2Stream) => {
      handleErrors(stream);
      stream.respond({ ":status": 200 });
      stream.write("half", () => breakIt(stream));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await using relay = await FakeRelay.open(letIn);
    await using _tunnel = aTunnel(relay, { locals: [{ tunnelPort: 1, host: "127.0.0.1", port }] });
    const { session } = await relay.next();
    const request = open(session, "/http/localhost/1/x", signed("/x"));
    request.end("whole");
    const failed = new Promise<string | undefined>((resolve) =>
      handleErrors(request, ({ code }: NodeJS.ErrnoException) => resolve(code)),
    );
    request.resume();
    const ended = new Promise((resolve) => request.once("close", () => resolve("closed without an error")));
    expect(await Promise.race([failed, ended])).toBe("ERR_HTTP2_STREAM_ERROR");
    server.close();
  });

  test("the relays of a name's SRV records are connected", async () => {
    await using relay = await FakeRelay.open(letIn);
    const { port } = new URL(relay.url);
    await using tunnel = aTunnel(relay, {
      servers: undefined,
      srv: "tunnel.us.perdure.test",
      resolveSrv: async () => [{ name: "127.0.0.1", port: Number(port) }],
    });
    const event = await tunnel.next("disconnected");
    expect(event).toMatchObject({ kind: "disconnected", server: `tls://127.0.0.1:${port}` });
  });

  test("a failed SRV look-up is reported and repeated", async () => {
    await using relay = await FakeRelay.open(letIn);
    await using tunnel = aTunnel(relay, {
      servers: undefined,
      srv: "nowhere.test",
      resolveSrv: () => Promise.reject(new Error("SERVFAIL")),
    });
    expect(await tunnel.next("resolveFailed")).toEqual({ kind: "resolveFailed", srv: "nowhere.test", reason: "SERVFAIL" });
  });
});
