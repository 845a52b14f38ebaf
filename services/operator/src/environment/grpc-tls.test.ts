import { describe, expect, test } from "@jest/globals";
import { environmentWith } from "../../test/an-environment.js";
import { cell } from "../../test/cell.js";
import { ensureGrpcTls } from "./grpc-tls.js";
import type { SecretData, SecretStore } from "./secret-store.js";

const DAY_MS = 86_400_000;
const nowMs = Date.UTC(2026, 0, 1);

/** What is written stays, and is counted. */
function aStore() {
  const stored = new Map<string, SecretData>();
  const written: string[] = [];
  const store: Pick<SecretStore, "read" | "ensure" | "write"> = {
    read: async (name) => stored.get(name),
    ensure: async (name, _options, make) => {
      const data = stored.get(name) ?? (await make());
      if (!stored.has(name)) written.push(name);
      stored.set(name, data);
      return data;
    },
    write: async (name, data) => {
      written.push(name);
      stored.set(name, data);
    },
  };
  return { store, written };
}

describe("certificates between processes", () => {
  test("are made once, and stay for two months", async () => {
    const { store, written } = aStore();
    const first = await ensureGrpcTls(environmentWith(), cell, store, nowMs);
    expect(written).toEqual(["grpc-authority", "grpc-tls"]);
    expect(await ensureGrpcTls(environmentWith(), cell, store, nowMs + 59 * DAY_MS)).toEqual(first);
    expect(written).toHaveLength(2);
  });

  test("are renewed a month before their end by the same authority", async () => {
    const { store, written } = aStore();
    const first = await ensureGrpcTls(environmentWith(), cell, store, nowMs);
    const second = await ensureGrpcTls(environmentWith(), cell, store, nowMs + 61 * DAY_MS);
    expect(written).toEqual(["grpc-authority", "grpc-tls", "grpc-tls"]);
    expect(second?.["ca.crt"]).toBe(first?.["ca.crt"]);
    expect(second?.["tls.key"]).not.toBe(first?.["tls.key"]);
  });

  test("get a later certificate of their authority a year before its end, with the same key", async () => {
    const { store } = aStore();
    const first = await ensureGrpcTls(environmentWith(), cell, store, nowMs);
    const key = (await store.read("grpc-authority"))?.["ca.key"];
    const later = await ensureGrpcTls(environmentWith(), cell, store, nowMs + 3_290 * DAY_MS);
    expect(later?.["ca.crt"]).not.toBe(first?.["ca.crt"]);
    expect((await store.read("grpc-authority"))?.["ca.key"]).toBe(key);
  });

  test("follow the names of the cluster, and are none where the cell does without", async () => {
    const { store, written } = aStore();
    await ensureGrpcTls(environmentWith(), cell, store, nowMs);
    await ensureGrpcTls(environmentWith(), { ...cell, clusterDns: "other.local" }, store, nowMs);
    expect(written).toEqual(["grpc-authority", "grpc-tls", "grpc-tls"]);
    expect(await ensureGrpcTls(environmentWith(), { ...cell, grpcTls: false }, store, nowMs)).toBeUndefined();
  });
});
