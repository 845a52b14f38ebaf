import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { silentLogger } from "@perdure/base";
import { describeMetadataStore } from "@perdure/metadata/testing";
import { type PostgresServer, startPostgres } from "@perdure/servers";
import { openPostgresMetadataStore } from "./metadata-store.js";
import { migrate } from "./migrate.js";
import { migrations } from "./migrations/index.js";
import { emptyDatabase, runSql, withClient } from "./testing/direct.js";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server[Symbol.asyncDispose]());

const open = (environment = "env_1") => openPostgresMetadataStore({ url: server.url, environment }, silentLogger);

const sql = (text: string) => runSql(server.url, text);

describeMetadataStore(
  "PostgreSQL",
  async () => {
    await emptyDatabase(server.url);
  },
  () => open(),
);

const put = (key: string, value: number) => [{ kind: "put", key, value, expectedVersion: undefined }] as const;

describe("documents in PostgreSQL", () => {
  test("of one environment are not those of another, nor are their versions", async () => {
    await using one = await open("env_one");
    await using two = await open("env_two");
    await one.write(put("a", 1));
    await one.write(put("a", 2));
    expect(await two.get("a")).toBeUndefined();
    expect(await two.write(put("a", 3))).toEqual({ kind: "written", version: 1 });
    expect(await one.list("")).toMatchObject([{ key: "a", value: 2, version: 2 }]);
  });

  test("announce themselves to every process of their environment", async () => {
    await using one = await open("env_news");
    await using two = await open("env_news");
    await using other = await open("env_other");
    let changeCount = 0;
    let otherChangeCount = 0;
    const nextChange = () => new Promise<void>((resolve) => two.onChange(() => resolve()));
    await new Promise<void>((resolve) => {
      two.onChange(() => {
        changeCount++;
        resolve(); // Listening has begun: from here on nothing is missed.
      });
    });
    await new Promise<void>((resolve) => {
      other.onChange(() => {
        otherChangeCount++;
        resolve();
      });
    });
    const before = [changeCount, otherChangeCount];
    const change = nextChange();
    await one.write(put("a", 1));
    await change;
    expect([changeCount, otherChangeCount]).toEqual([(before[0] as number) + 1, before[1]]);
  });

  test("are notified again after the connection that listens was cut", async () => {
    await using store = await open("env_cut");
    let changeCount = 0;
    const next = (count: number) =>
      new Promise<void>((resolve) => {
        const stop = store.onChange(() => {
          if (++changeCount < count) return;
          stop();
          resolve();
        });
      });
    await next(1);
    const again = next(2);
    await sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'");
    await again;
    const change = next(3);
    await store.write(put("a", 1));
    await change;
  });

  test("are notified again when the connection that listens broke without an event", async () => {
    await using line = await CutLine.open(server.port);
    const url = new URL(server.url);
    url.port = String(line.port);
    await using deaf = await openPostgresMetadataStore({ url: url.href, environment: "env_deaf" }, silentLogger);
    const changeTimesMs: number[] = [];
    deaf.onChange(() => changeTimesMs.push(Date.now()));
    while (changeTimesMs.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    line.cut(); // From here on nothing arrives on it, without any event.
    await using store = await open("env_deaf");
    await store.write(put("a", 1));
    const before = changeTimesMs.length;
    while (changeTimesMs.length === before) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(await deaf.get("a")).toMatchObject({ value: 1 });
  }, 60_000);

  test("survive the database being killed, and writes in between fail with STO0001", async () => {
    await using store = await open("env_killed");
    await store.write(put("a", 1));
    await server.kill();
    await expect(store.write(put("a", 2))).rejects.toThrow("STO0001");
    await server.startAgain();
    expect(await store.get("a")).toMatchObject({ value: 1, version: 1 });
    await store.write(put("a", 2));
  }, 60_000);
});

/** Passes connections on until it is cut: those that are open then stay so, and carry nothing any more. */
class CutLine implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets: Socket[] = [];
  private constructor(server: Server) {
    this.#server = server;
  }
  static async open(to: number): Promise<CutLine> {
    const server = createServer();
    const line = new CutLine(server);
    server.on("connection", (near) => {
      const far = connect(to, "127.0.0.1");
      for (const socket of [near, far]) socket.on("error", () => undefined); // The other end gets the end of the connection.
      near.pipe(far).pipe(near);
      line.#sockets.push(near, far);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return line;
  }
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }
  cut(): void {
    for (const socket of this.#sockets) {
      socket.unpipe();
      socket.pause();
    }
  }
  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

describe("migrations", () => {
  const LAST = migrations.at(-1)?.number ?? 0;
  const steps = [...migrations, { number: LAST + 1, name: "later", sql: "CREATE TABLE later_table (n int)" }];
  const migrated = (all = migrations) => withClient(server.url, (client) => migrate(client, silentLogger, all));

  test("are applied once, by whichever of many processes comes first", async () => {
    await emptyDatabase(server.url);
    const appliedCounts = await Promise.all([1, 2, 3, 4].map(() => migrated()));
    expect(appliedCounts.reduce((sum, each) => sum + each, 0)).toBe(migrations.length);
    expect(await migrated()).toBe(0);
  });

  test("that fail leave nothing behind, and are applied when they can be", async () => {
    const broken = { number: LAST + 1, name: "later", sql: "CREATE TABLE later_table (n int); SELECT 1/0" };
    await expect(migrated([...migrations, broken])).rejects.toThrow("division");
    expect(await sql("SELECT to_regclass('later_table') AS found")).toEqual([{ found: null }]);
    expect(await migrated(steps)).toBe(1);
  });

  test("of a newer version keep an older one from writing", async () => {
    await expect(open()).rejects.toThrow("META0010");
  });

  test("of a version before the first release are not continued, and the database stays as it is", async () => {
    await emptyDatabase(server.url);
    await sql(
      "CREATE TABLE perdure_migrations (number int PRIMARY KEY, name text NOT NULL, applied_at timestamptz DEFAULT now())",
    );
    await sql("INSERT INTO perdure_migrations (number, name) VALUES (6, 'mail')");
    await expect(open()).rejects.toThrow(/META0010.*before 0\.1\.0/);
    expect(await sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")).toEqual([
      { tablename: "perdure_migrations" },
    ]);
  });

  test("are numbered without holes, from the one that stands for all before the first release", () => {
    expect(migrations.map(({ number }) => number)).toEqual(migrations.map((_, index) => 7 + index));
  });
});
