import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { startPostgres } from "./postgres.js";

test("PostgreSQL starts for every user, root included, survives kill -9, and goes with its data", async () => {
  let directory = "";
  {
    await using postgres = await startPostgres();
    ({ directory } = postgres);
    expect(postgres.url).toBe(`postgres://perdure@127.0.0.1:${postgres.port}/postgres`);
    expect(postgres.log()).toMatch(/ready to accept connections/);
    await postgres.kill();
    expect(postgres.isRunning).toBe(false);
    await postgres.startAgain();
    expect(postgres.log()).toMatch(/automatic recovery in progress|ready to accept connections/);
    await postgres.stop();
    expect(postgres.isRunning).toBe(false);
    await postgres.startAgain();
  }
  expect(existsSync(directory)).toBe(false);
});

test("data may be in a folder that is closed to all users but us", async () => {
  const closed = mkdtempSync(join(tmpdir(), "perdure-closed-"));
  try {
    const directory = join(closed, "data");
    mkdirSync(directory);
    await using postgres = await startPostgres({ directory });
    expect(postgres.isRunning).toBe(true);
  } finally {
    rmSync(closed, { recursive: true });
  }
}, 60_000);
