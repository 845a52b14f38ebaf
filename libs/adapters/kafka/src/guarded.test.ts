/** The connections of a guarded client; brokers and token endpoints run on this machine, with exceptions of the operator. */
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { createEgressGuard, type EgressGuard, parseAllowance } from "@perdure/egress";
import kafkajs from "kafkajs";
import { guardedSockets } from "./guarded-sockets.js";
import { clientSettings } from "./properties.js";
import { postForm } from "./token-request.js";

/** An address that stands for the internet. */
const OUTSIDE = "127.0.0.2";
const INSIDE = "127.0.0.1";

let open: Server[];
let sockets: Set<Socket>;
let connections: string[];
beforeEach(() => {
  open = [];
  sockets = new Set();
  connections = [];
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  for (const server of open) {
    server.close();
    await once(server, "close");
  }
});

async function listening(server: Server, host: string): Promise<number> {
  server.on("connection", (socket) => {
    connections.push(host);
    sockets.add(socket);
  });
  server.listen(0, host);
  await once(server, "listening");
  open.push(server);
  return (server.address() as AddressInfo).port;
}

function aGuard(names: Readonly<Record<string, string>> = {}): EgressGuard {
  return createEgressGuard(
    { allowPlainHttp: true, ownDomains: [], ownRanges: [], allowances: [parseAllowance(OUTSIDE)!] },
    {
      resolve(hostname, done) {
        const address = names[hostname];
        queueMicrotask(() => done(null, address === undefined ? [] : [{ address, family: 4 }]));
      },
      onDenied() {},
    },
  );
}

/** "connected", or the reason why it failed. */
async function outcomeOf(guard: EgressGuard, host: string, port: number, ssl = false): Promise<string> {
  const make = guardedSockets(guard);
  let socket: Socket | undefined;
  const outcome = await new Promise<string>((resolve) => {
    // kafkajs leaves `ssl` out for plain connections, although its type says otherwise.
    const plain = { host, port, onConnect: () => resolve("connected") };
    socket = make((ssl ? { ...plain, ssl: {} } : plain) as Parameters<typeof make>[0]);
    socket.on("error", (error) => resolve(error.message));
  });
  socket?.destroy();
  return outcome;
}

describe("connections of a guarded client", () => {
  test("go to the checked address of a name", async () => {
    const port = await listening(createServer(), OUTSIDE);
    expect(await outcomeOf(aGuard({ "kafka.example.com": OUTSIDE }), "kafka.example.com", port)).toBe("connected");
    expect(await outcomeOf(aGuard(), OUTSIDE, port)).toBe("connected");
  });

  test.each([INSIDE, "localhost", "0x7f.1", "::ffff:127.0.0.1", "advertised.example.com"])(
    "do not go to %s, by any name, in plain text or TLS",
    async (host) => {
      const port = await listening(createServer(), INSIDE);
      const guard = aGuard({ "advertised.example.com": INSIDE });
      expect(await outcomeOf(guard, host, port)).toBe("destination not allowed");
      expect(await outcomeOf(guard, host, port, true)).toBe("destination not allowed");
      expect(connections).toEqual([]);
    },
  );

  test("are counted until they are closed", async () => {
    const port = await listening(createServer(), OUTSIDE);
    const guard = aGuard();
    const held = Array.from({ length: 99 }, () => guard.admitEndpoint(OUTSIDE, port));
    const first = guardedSockets(guard)({ host: OUTSIDE, port, onConnect() {} } as never);
    await once(first, "connect");
    expect(await outcomeOf(guard, OUTSIDE, port)).toMatch("too many connections");
    first.destroy();
    await once(first, "close");
    expect(await outcomeOf(guard, OUTSIDE, port)).toBe("connected");
    expect(held).toHaveLength(99);
  });
});

test("the client itself connects through them", async () => {
  const port = await listening(createServer(), INSIDE);
  const properties = { "bootstrap.servers": `127.0.0.1:${port},localhost:${port}`, "retry.backoff.ms": "1" };
  const { kafka } = clientSettings(properties, { guard: aGuard() });
  const admin = new kafkajs.Kafka({ ...kafka, logLevel: kafkajs.logLevel.NOTHING }).admin();
  await expect(admin.connect()).rejects.toThrow("destination not allowed");
  await admin.disconnect();
  expect(connections).toEqual([]);
});

describe("properties of a guarded client", () => {
  const TLS = { "bootstrap.servers": "kafka.example.com", "security.protocol": "ssl" };

  test("have guarded sockets with a guard, and none without", () => {
    expect(clientSettings(TLS, { guard: aGuard() }).kafka.socketFactory).toEqual(expect.any(Function));
    expect(clientSettings(TLS).kafka.socketFactory).toBeUndefined();
  });

  test.each(["ssl.ca.location", "ssl.certificate.location", "ssl.key.location"])(
    "must not name a file of the server: %s",
    (name) => {
      expect(() => clientSettings({ ...TLS, [name]: "/etc/hostname" }, { guard: aGuard() })).toThrow(
        `'${name}' cannot name a file here`,
      );
    },
  );
});

describe("a token endpoint", () => {
  const form = () => new URLSearchParams({ grant_type: "client_credentials" });

  test("gets a form, with and without a guard", async () => {
    const requests: string[] = [];
    const server = createHttpServer(async (req, res) => {
      let body = "";
      for await (const chunk of req) body += String(chunk);
      requests.push(`${req.method} ${req.headers.authorization} ${req.headers["content-type"]} ${body}`);
      res.end('{"access_token":"t"}');
    });
    const port = await listening(server, OUTSIDE);
    const question = "POST Basic abc application/x-www-form-urlencoded grant_type=client_credentials";
    const answer = { status: 200, text: '{"access_token":"t"}' };
    const guard = aGuard({ "login.example.com": OUTSIDE });
    expect(await postForm(`http://login.example.com:${port}/token`, form(), "Basic abc", guard)).toEqual(answer);
    expect(await postForm(`http://${OUTSIDE}:${port}/token`, form(), "Basic abc", undefined)).toEqual(answer);
    expect(requests).toEqual([question, question]);
  });

  test.each(["http://127.0.0.1:PORT/", "http://rebind.example.com:PORT/", "http://user@OUTSIDE:PORT/"])(
    "at an internal address gets no request: %s",
    async (url) => {
      const port = await listening(createHttpServer(), INSIDE);
      const there = url.replace("PORT", String(port)).replace("OUTSIDE", OUTSIDE);
      const posting = postForm(there, form(), "Basic abc", aGuard({ "rebind.example.com": INSIDE }));
      await expect(posting).rejects.toThrow("destination not allowed");
      expect(connections).toEqual([]);
    },
  );

  test("that redirects is not followed, and an endless answer is not read to its end", async () => {
    const inside = await listening(createHttpServer(), INSIDE);
    const moved = createHttpServer((_req, res) => res.writeHead(307, { location: `http://127.0.0.1:${inside}/` }).end());
    const port = await listening(moved, OUTSIDE);
    expect(await postForm(`http://${OUTSIDE}:${port}/`, form(), "", aGuard())).toEqual({ status: 307, text: "" });
    expect(connections).toEqual([OUTSIDE]);
    const endless = await listening(
      createHttpServer((_req, res) => res.end("x".repeat(300_000))),
      OUTSIDE,
    );
    await expect(postForm(`http://${OUTSIDE}:${endless}/`, form(), "", aGuard())).rejects.toThrow("more than 262144 bytes");
  });
});
