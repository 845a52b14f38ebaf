/** Codes with which a server refuses to start, each with the place and with what to do. */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { RoleSettings } from "@perdure/dev-cluster";
import { expectRefusal, type RefusedStart, SdkEndpoint, Server, TestAdminClient, temporaryDirectory } from "../../src/index.js";
import { echoService } from "../../src/services/echo.js";
import { provoked } from "./codes.js";
import { damageRows } from "./damage.js";

export function describeStartErrors(): void {
  describe("a server does not start", () => {
    let baseDir: string;
    beforeEach(() => {
      baseDir = temporaryDirectory();
    });
    afterEach(() => rmSync(baseDir, { recursive: true, force: true }));

    async function refused(code: string, settings: RoleSettings = {}, args: readonly string[] = []): Promise<RefusedStart> {
      const refusal = await expectRefusal({ "base-dir": baseDir, ...settings }, args);
      expect(refusal.exit.code).not.toBe(0);
      expect(refusal.output).toContain(code);
      expect(refusal.output).toContain("What to do:");
      provoked.add(code);
      return refusal;
    }

    /** A data directory as a server leaves it. */
    async function used(): Promise<Server> {
      const server = await Server.start({ baseDir });
      await server.stop();
      return server;
    }

    test("RT0002: with settings that it does not understand", async () => {
      expect((await refused("RT0002", { "ingress.bind-prt": 1 })).output).toContain("did you mean");
      expect((await refused("RT0002", { "worker.cleanup-interval": "soon" })).output).toContain("soon");
      const file = join(baseDir, "perdure.toml");
      writeFileSync(file, "[ingress\nbind-port = 1");
      expect((await refused("RT0002", {}, ["--config-file", file])).output).toContain(file);
    });

    test("RT0004: on an address that is taken", async () => {
      const server = await Server.start();
      const port = new URL(server.ingressUrl).port;
      expect((await refused("RT0004", { "ingress.bind-port": port })).output).toContain(port);
      expect((await refused("RT0004", { "admin.bind-port": port })).output).toContain(port);
      await server[Symbol.asyncDispose]();
    });

    test("RT0005: on data that another server uses", async () => {
      const server = await Server.start({ baseDir });
      expect((await refused("RT0005")).output).toContain(baseDir);
      await server.stop();
    });

    test("RT0009 and META0011: on directories that hold something without a version", async () => {
      for (const [folder, code] of [
        ["local-metadata-store", "META0011"],
        ["db", "RT0009"],
      ] as const) {
        const path = join(baseDir, "node1", folder);
        mkdirSync(path, { recursive: true });
        writeFileSync(join(path, "another program's file"), "precious");
        expect((await refused(code)).output).toContain(path);
        expect(readFileSync(join(path, "another program's file"), "utf8")).toBe("precious");
        rmSync(path, { recursive: true });
      }
    });

    test("META0010: on data of another version", async () => {
      await used();
      for (const folder of ["db", "local-metadata-store"]) {
        const file = join(baseDir, "node1", folder, "perdure-format.json");
        writeFileSync(file, JSON.stringify({ format: 99, writtenBy: "perdure" }));
        expect((await refused("META0010")).output).toContain(join(baseDir, "node1", folder));
        writeFileSync(file, JSON.stringify({ format: 1, writtenBy: "perdure" }));
      }
      const server = await Server.start({ baseDir });
      await server.stop();
    });

    test("META0005: on metadata that is damaged", async () => {
      const server = await Server.start({ baseDir });
      const endpoint = await SdkEndpoint.start({ services: [echoService("Damaged")] });
      using admin = new TestAdminClient(server.adminUrl);
      await admin.register({ uri: endpoint.url });
      await endpoint[Symbol.asyncDispose]();
      await server.stop();
      expect(await damageRows(server.databases.metadata, "EchoDamaged", "overwrite")).toBe(1);
      await refused("META0005");
    });
  });
}
