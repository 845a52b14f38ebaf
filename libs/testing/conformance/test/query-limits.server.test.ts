/** Statements that read and nothing else, written to take a server down: each is answered, and all else continues. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { TIMEOUT_FACTOR } from "@perdure/testkit";
import { type ObjectContext, object, serde } from "@restatedev/restate-sdk";
import { Cli } from "../src/cli/index.js";
import { eventually, type HttpAnswer, HttpClient, type Server, TestWorld } from "../src/index.js";
import { featureServices } from "../src/services/index.js";

/** For statements that read much: enough on a busy machine. */
const TIMEOUT_SECONDS = 15;
/** For statements that would never end. */
const SHORT_TIMEOUT_SECONDS = 2;
/** Of the server, and of the official command line, which waits for a while only. */
const TOOK_LONGER = /the query took longer than|operation timed out/;
/** Beyond the time of a statement: what no interrupt ends has a second more, and the machine may be busy. */
const ANSWER_MS = (TIMEOUT_SECONDS + 12) * 1000 * TIMEOUT_FACTOR;

const bigState = object({
  name: "BigState",
  handlers: {
    fill: async (ctx: ObjectContext, { key, size }: { readonly key: string; readonly size: number }) => {
      const text = new Uint8Array(size).fill(120); // A text in JSON, as the official command line expects.
      text[0] = 34;
      text[size - 1] = 34;
      ctx.set(key, text, serde.binary);
    },
  },
});

let world: TestWorld;
function useWorld(timeoutSeconds: number): void {
  beforeAll(async () => {
    world = await TestWorld.start({ settings: { "admin.query-engine.timeout": `${timeoutSeconds}s` } });
    await world.deploy({ services: [...featureServices(""), bigState] });
  });
  afterAll(() => world[Symbol.asyncDispose]());
}

function query(text: string, client: HttpClient = world.admin.http): Promise<HttpAnswer> {
  return client.request("POST", "/query", {
    json: { query: text },
    headers: { accept: "application/json" },
    withinMs: ANSWER_MS,
  });
}

/** Rows of a statement that a busy machine may not finish in the time that statements have here. */
function rowsOf<T>(text: string): Promise<readonly T[]> {
  return eventually(
    text,
    async () => {
      const { status, json } = await query(text);
      return status === 200 ? (json as { rows: T[] }).rows : undefined;
    },
    60_000,
  );
}

/** The refusal of a statement, unless the machine was so busy that its time was over before the reason for the refusal was found. */
function refusalOf(text: string): Promise<HttpAnswer> {
  return eventually(
    text,
    async () => {
      const answer = await query(text);
      return TOOK_LONGER.test((answer.json as { message?: string }).message ?? "") ? undefined : answer;
    },
    60_000,
  );
}

function nested(name: string, depth: number, of: string): string {
  return `${`${name}(`.repeat(depth)}${of}${")".repeat(depth)}`;
}

/** An expression whose text doubles with each step, by common functions. */
function doubled(depth: number): string {
  return `${"replace(".repeat(depth)}'aaaaaaaa'${", 'a', 'aa')".repeat(depth)}`;
}

async function expectAtWork(): Promise<void> {
  expect((await world.ingress.http.request("GET", "/restate/health", {})).status).toBe(200);
  expect((await world.ingress.call(["Echo", "echo"], "durable")).status).toBe(200);
  expect(await rowsOf("select 1 as one")).toEqual([{ one: 1 }]);
}

/** MiB that the server and the processes it started hold now. */
function memoryMib(): number {
  const { pid } = world.server as Server;
  return processes().reduce((sum, [own, parent, kib]) => sum + (own === pid || parent === pid ? kib / 1024 : 0), 0);
}

/** Id, parent and resident KiB of every process: from `/proc` on Linux, where `ps` may not be installed, else from `ps`. */
function processes(): [pid: number, parent: number, kib: number][] {
  if (!existsSync("/proc/self/status")) {
    const lines = execFileSync("ps", ["-eo", "pid=,ppid=,rss="], { encoding: "utf8" }).trim().split("\n");
    return lines.map((line) => line.trim().split(/\s+/).map(Number) as [number, number, number]);
  }
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      let status: string;
      try {
        status = readFileSync(`/proc/${name}/status`, "utf8");
      } catch {
        return []; // Ended meanwhile.
      }
      const field = (label: string): number => Number(new RegExp(`^${label}:\\s*(\\d+)`, "m").exec(status)?.[1] ?? 0);
      return [[Number(name), field("PPid"), field("VmRSS")] as [number, number, number]];
    });
}

describe("a stored value of 30 MB", () => {
  useWorld(TIMEOUT_SECONDS);
  const SIZE = 30_000_000;
  /** So many are shown. */
  const LISTED_BYTES = 256 * 1024;

  test("is read by a join, by its id, and after a restart, and the server lives", async () => {
    const called = await world.ingress.http.request("POST", "/Echo/bytes", {
      body: new Uint8Array(SIZE).fill(120),
      headers: { "content-type": "application/octet-stream" },
      withinMs: ANSWER_MS,
    });
    expect(called.status).toBe(200);
    for (let round = 0; round < 2; round++) {
      const joined = await rowsOf(
        "SELECT i.status, j.entry_json FROM sys_invocation i LEFT JOIN sys_journal j ON i.id = j.id AND j.entry_type = 'Command: Output' WHERE i.id = 'inv_none'",
      );
      expect(joined).toEqual([]);
      const [{ id } = { id: "" }] = await rowsOf<{ id: string }>("SELECT id FROM sys_invocation WHERE target = 'Echo/bytes'");
      expect(id).toMatch(/^inv_/);
      const [row] = await rowsOf<{ entry_json: string; raw_length: number }>(
        `SELECT entry_json, raw_length FROM sys_journal WHERE id = '${id}' AND entry_type = 'Command: Output'`,
      );
      expect(row?.raw_length).toBeGreaterThan(SIZE);
      const { Command } = JSON.parse(row?.entry_json ?? "") as {
        Command: { Output: { result: { Success: number[] }; truncated_bytes: number } };
      };
      expect(Command.Output.truncated_bytes).toBe(SIZE);
      const listed = Command.Output.result.Success;
      // Not `toEqual`: comparing a quarter of a million numbers in Jest takes seconds.
      expect([listed.length, listed.every((byte) => byte === 120)]).toEqual([LISTED_BYTES, true]);
      await expectAtWork();
      if (round > 0) continue;
      await world.server.stop();
      await world.server.startAgain();
    }
  }, 90_000);
});

describe("values of the state of 30 MB", () => {
  useWorld(TIMEOUT_SECONDS);
  const SIZE = 30_000_000;
  const TOO_MUCH = /the query (?:reads too much of state|needs more memory than one statement may use)/;

  test("are shown whole, and several at once are refused with Perdure's message, by the official command line as well", async () => {
    for (const [object, count] of [
      ["one", 1],
      ["many", 6],
    ] as const) {
      for (let i = 0; i < count; i++) {
        expect((await world.ingress.call(["BigState", object, "fill"], { key: `v${i}`, size: SIZE })).status).toBe(200);
      }
    }
    const [row] = await rowsOf<{ readonly key: string; readonly value: string }>(
      "select key, value from state where service_name = 'BigState' and service_key = 'one'",
    );
    expect([row?.key, row?.value.length]).toEqual(["v0", 2 * SIZE]);
    const many = await refusalOf("select value, value_utf8 from state where service_name = 'BigState' and service_key = 'many'");
    expect([many.status, many.json]).toEqual([400, { message: expect.stringMatching(TOO_MUCH), restate_code: null }]);
    const longer = await refusalOf(
      "select key, value_utf8 || 'x' || value_utf8 as twice from state where service_name = 'BigState' and service_key = 'one'",
    );
    expect([longer.status, longer.json]).toEqual([
      400,
      {
        message: expect.stringMatching(/^\[META0102\] column twice of the result in row 1 has 60000001 bytes/),
        restate_code: "META0102",
      },
    ]);
    const cli = world.own(new Cli(world.server));
    const shown = await cli.run(["kv", "get", "BigState", "one", "--plain"]);
    expect([shown.exitCode, shown.stdout]).toEqual([0, expect.stringContaining("x".repeat(64))]);
    const refused = await eventually("the refusal of the command line", async () => {
      const run = await cli.run(["kv", "get", "BigState", "many", "--plain"]);
      return TOOK_LONGER.test(run.stderr) ? undefined : run;
    });
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringMatching(TOO_MUCH)]);
    await expectAtWork();
  }, 180_000);
});

describe("memory that functions take", () => {
  useWorld(SHORT_TIMEOUT_SECONDS);
  test.each([
    ["hex", `select length(${nested("hex", 28, "'aaaaaaaa'")})`],
    ["replace", `select length(${doubled(30)})`],
    ["damerau_levenshtein", `select damerau_levenshtein(${doubled(13)}, ${nested("upper", 1, doubled(13))})`],
  ])("in one step is bounded: %s", async (_name, text) => {
    const before = memoryMib();
    let most = before;
    const watch = setInterval(() => {
      most = Math.max(most, memoryMib());
    }, 100);
    const answer = await query(text);
    clearInterval(watch);
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({ message: expect.stringMatching(/memory|took longer|not available/) });
    expect(most - before).toBeLessThan(1600);
    await expectAtWork();
  });
});

describe("time that no interrupt ends", () => {
  useWorld(SHORT_TIMEOUT_SECONDS);
  // One step takes hours: each of a million matches is found at the end of a search through the whole text.
  const ENDLESS = `select length(regexp_replace(${doubled(17)}, 'a*x|a', 'c', 'g'))`;

  test("is not left to functions that compare each character of two texts", async () => {
    const answer = await refusalOf(`select levenshtein(${doubled(15)}, upper(${doubled(15)}))`);
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({ message: "the function levenshtein is not available" });
  });

  test("is over after the time of a statement, for all that wait", async () => {
    const clients = Array.from({ length: 2 }, () => new HttpClient(world.server.adminUrl));
    const answers = clients.map((client) => query(ENDLESS, client));
    // What is durable continues meanwhile.
    for (let i = 0; i < 20; i++) expect((await world.ingress.call(["Echo", "echo"], i)).status).toBe(200);
    expect(await rowsOf("select 1 as one")).toEqual([{ one: 1 }]);
    for (const answer of await Promise.all(answers)) {
      expect(answer.status).toBe(400);
      expect(answer.json).toMatchObject({ message: `the query took longer than ${SHORT_TIMEOUT_SECONDS} seconds` });
    }
    for (const client of clients) client[Symbol.dispose]();
    await expectAtWork();
  }, 60_000);

  test("is over soon when the client leaves", async () => {
    const clients = Array.from({ length: 4 }, () => new HttpClient(world.server.adminUrl));
    const answers = Promise.allSettled(clients.map((client) => query(ENDLESS, client)));
    expect((await world.ingress.call(["Echo", "echo"], "meanwhile")).status).toBe(200);
    for (const client of clients) client[Symbol.dispose]();
    await answers;
    await expectAtWork();
  });
});
