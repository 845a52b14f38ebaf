import { setTimeout as delay } from "node:timers/promises";
import { test } from "@jest/globals";
import { writeFileSync } from "node:fs";
import { AdminClient, eventually, IngressClient, SdkEndpoint, WholeCluster } from "../../src/index.js";
import { tallyObject, workService } from "../../src/services/crash.js";
test("x", async () => {
  const out: unknown[] = [];
  const cluster = await WholeCluster.start({ workerSettings: { "worker.invoker.inactivity-timeout": "50ms" } });
  const endpoint = await SdkEndpoint.start({ services: [tallyObject, workService], kind: "h2-bidi" });
  const admin = new AdminClient(cluster.adminUrl);
  await eventually("r", () => admin.register({ uri: endpoint.url }), 30_000);
  const clients = cluster.ingressUrls.map((u) => new IngressClient(u));
  let stop = false; let done = 0; const hung: string[] = [];
  const caller = async (n: number) => { for (let i = 0; !stop; i++) { const key = `j${n}.${i}`;
      const r = await Promise.race([clients[n % 2]!.call(["Work", "work"], { name: key, steps: 1 + (i % 3), sleepMs: (i % 4) * 20, tallies: [`t${n % 5}`, `t${i % 5}`] }, { idempotencyKey: key } as never).then((a) => a.status, (e: Error) => e.message), delay(9000, "HUNG")]);
      if (r === 200) done++; else if (r === "HUNG") { hung.push(key); return; } else { out.push([Date.now() % 1e6, key, r]); i--; await delay(100); } } };
  for (let round = 0; round < 4 && hung.length === 0; round++) {
    stop = false; const before = done;
    const all = Promise.all(Array.from({ length: 12 }, (_, n) => caller(n + round * 100)));
    await eventually("w", () => done > before + 60, 60_000).catch(() => undefined);
    await cluster.workers.at(-1)!.kill();
    await delay(4000);
    await cluster.addWorker();
    await delay(3000);
    stop = true; await all;
    out.push(["round", round, hung.length, done]);
  }
  const rows = await admin.query("select id, target, status, retry_count, last_failure, idempotency_key, journal_size, modified_at from sys_invocation where status != 'completed' limit 40").catch((e: Error) => [{ e: e.message }]);
  for (const r of rows) out.push(r);
  for (const row of rows.slice(0, 4)) out.push(["explain", (await admin.get(`/invocations/${(row as {id: string})["id"]}/explain`)).json]);
  out.push(await admin.query("select * from sys_inbox limit 20").catch((e: Error) => e.message));
  const one = rows.find((r) => String((r as { target?: string }).target).startsWith("Work"));
  if (one) out.push(await admin.query(`select index, entry_type, completed, appended_at, entry_lite_json from sys_journal where id = '${(one as {id: string}).id}'`));
  for (const key of hung) out.push(["again", key, await Promise.race([clients[0]!.call(["Work", "work"], {}, { idempotencyKey: key } as never).then((a) => a.status), delay(3000, "HUNG")])]);
  writeFileSync("/tmp/zz.txt", out.map((o) => JSON.stringify(o)).join("\n") + "\n" + cluster.workers.map((w) => "--- worker\n" + w.lines.slice(-30).join("\n")).join("\n") + "\n--- gw\n" + cluster.gateways[0]?.lines.slice(-15).join("\n"));
  await cluster[Symbol.asyncDispose](); await endpoint[Symbol.asyncDispose]();
}, 300_000);
