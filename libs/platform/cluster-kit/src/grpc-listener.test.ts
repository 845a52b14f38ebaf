import { Client, credentials, Metadata, status } from "@grpc/grpc-js";
import { afterEach, describe, expect, test } from "@jest/globals";
import { Secret } from "@perdure/base";
import { openChannel, type PeerCredentials, partitionsDefinition } from "@perdure/grpc";
import { type GrpcListener, type GrpcListenerSettings, openGrpcListener } from "./grpc-listener.js";

const opened: (() => PromiseLike<void> | void)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

async function open(peers?: PeerCredentials, settings: Partial<GrpcListenerSettings> = {}): Promise<GrpcListener> {
  const listener = await openGrpcListener({ bindAddress: "127.0.0.1", bindPort: 0, ...settings }, peers);
  opened.push(() => listener[Symbol.asyncDispose]());
  return listener;
}

/** `grpc.health.v1.Health/Check` by hand: 1 is SERVING, 2 NOT_SERVING; for an unknown service the status of the call. */
function health({ port }: GrpcListener, service: string, shown?: PeerCredentials): Promise<number | string> {
  const address = `127.0.0.1:${port}`;
  const client = shown === undefined ? new Client(address, credentials.createInsecure()) : openChannel(address, shown);
  opened.push(() => client.close());
  const name = Buffer.from(service);
  const request = name.length === 0 ? Buffer.alloc(0) : Buffer.concat([Buffer.from([0x0a, name.length]), name]);
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      "/grpc.health.v1.Health/Check",
      (bytes: Buffer) => bytes,
      (bytes: Buffer) => bytes[1] ?? 0,
      request,
      new Metadata(),
      { deadline: Date.now() + 5000 },
      (error, answer) => resolve(error === null ? (answer as number) : (status[error.code] ?? "?")),
    );
  });
}

const PARTITIONS = "perdure.control.v1.Partitions";

describe("a gRPC listener", () => {
  test("is healthy from the moment that something is served, and not any more when it drains", async () => {
    const listener = await open();
    expect([await health(listener, ""), await health(listener, PARTITIONS)]).toEqual([2, "NOT_FOUND"]);
    listener.serve(PARTITIONS, partitionsDefinition, {});
    expect([await health(listener, ""), await health(listener, PARTITIONS)]).toEqual([1, 1]);
    await listener.drain?.(new AbortController().signal);
    expect([await health(listener, ""), await health(listener, PARTITIONS)]).toEqual([2, 2]);
  });

  test("with a token answers clients that present it", async () => {
    const ours = { token: new Secret("a".repeat(40)) };
    const listener = await open(ours, { bindAddress: "*" });
    listener.serve(PARTITIONS, partitionsDefinition, {});
    expect(await health(listener, PARTITIONS, ours)).toBe(1);
    expect(await health(listener, PARTITIONS, { token: new Secret("b".repeat(40)) })).toBe("UNAUTHENTICATED");
    expect(await health(listener, PARTITIONS)).toBe("UNAUTHENTICATED");
  });

  test.each([undefined, "*", "0.0.0.0", "::"])(
    "at the address %s needs certificates, a token, or a word that others are kept out",
    async (bindAddress) => {
      const named = /tls\.authority-file.*tls\.token-file.*127\.0\.0\.1.*grpc\.allow-cleartext/;
      await expect(open(undefined, { bindAddress })).rejects.toThrow(named);
      await expect(open(undefined, { bindAddress })).rejects.toMatchObject({ code: "OPS0001" });
      expect((await open(undefined, { bindAddress, allowCleartext: true })).port).toBeGreaterThan(0);
    },
  );

  test("whose port is in use is refused with RT0004", async () => {
    const { port } = await open();
    await expect(openGrpcListener({ bindAddress: "127.0.0.1", bindPort: port }, undefined)).rejects.toMatchObject({
      code: "RT0004",
    });
  });
});
