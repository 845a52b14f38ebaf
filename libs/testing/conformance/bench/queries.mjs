/**
 * SQL over 100,000 invocations: what each typical statement takes on its own, and what calls notice of statements that run back to
 * back.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { wrkBeside } from "./load.mjs";
import { residentMiB, root, Server, startEndpoint } from "./servers.mjs";

/** The default number of partitions. */
const PARTITIONS = 24;

/** Statements of the official command line (admin-api.md §8.1) and what people ask first; `$…` is filled in from the data. */
const STATEMENTS = [
  ["count by status", "SELECT status, COUNT(*) AS n FROM sys_invocation GROUP BY status"],
  [
    "group by service",
    "SELECT target_service_name, status, COUNT(*) AS n, MIN(created_at) AS oldest FROM sys_invocation GROUP BY 1, 2",
  ],
  ["100 newest", "SELECT * FROM sys_invocation ORDER BY created_at DESC LIMIT 100"],
  [
    "100 newest with filters",
    "SELECT id, target, status, created_at FROM sys_invocation WHERE target_service_name = 'Bench' AND status = 'completed' ORDER BY created_at DESC LIMIT 100",
  ],
  ["one by id", "SELECT * FROM sys_invocation WHERE id = '$id'"],
  [
    "Q1 services status: pending",
    "SELECT target_service_name, target_handler_name, 'pending' as status, COUNT(1) as num_invocations, MIN(created_at) as oldest_at, FIRST_VALUE(id ORDER BY created_at ASC) as oldest_invocation FROM sys_invocation_status WHERE status == 'inboxed' AND target_service_name IN ('Bench','Counter','Sleeper') GROUP BY target_service_name, target_handler_name",
  ],
  [
    "Q2 services status",
    "SELECT target_service_name, target_handler_name, status, COUNT(1) as num_invocations, MIN(created_at) as oldest_at, FIRST_VALUE(id ORDER BY created_at ASC) as oldest_invocation FROM sys_invocation WHERE target_service_name IN ('Bench','Counter','Sleeper') GROUP BY target_service_name, target_handler_name, status ORDER BY target_handler_name",
  ],
  [
    "Q3 waiting for keys",
    "SELECT service_name, service_key, COUNT(1) as num_pending FROM sys_inbox WHERE service_name IN ('Counter') GROUP BY service_name, service_key ORDER BY num_pending DESC",
  ],
  [
    "Q4 holders of keys",
    "SELECT target_service_name as service_name, target_service_key as service_key, status as invocation_status, first_value(id) as invocation_holding_lock, first_value(target_handler_name) as invocation_method_holding_lock, first_value(created_at) as invocation_created_at, first_value(modified_at) as modified_at, first_value(pinned_deployment_id) as pinned_deployment_id, first_value(last_attempt_deployment_id) as last_attempt_deployment_id, first_value(last_failure) as last_failure_message, first_value(next_retry_at) as next_retry_at, first_value(last_start_at) as last_start_at, 0 as num_pending, sum(retry_count) as num_retries FROM sys_invocation WHERE status != 'pending' AND target_service_name IN ('Counter') GROUP BY target_service_name, target_service_key, status",
  ],
  ["Q5 list", "SELECT id FROM sys_invocation inv WHERE status != 'completed' ORDER BY inv.created_at DESC, inv.id LIMIT 100"],
  ["Q5 list, all", "SELECT id FROM sys_invocation inv ORDER BY inv.created_at DESC, inv.id LIMIT 100"],
  [
    "Q6 details of 100",
    "SELECT inv.id, inv.target, inv.target_service_ty, inv.idempotency_key, inv.status, inv.created_at, inv.modified_at as state_modified_at, inv.pinned_deployment_id, inv.retry_count as num_retries, inv.last_failure as last_failure_message, inv.last_failure_related_entry_index as last_failure_entry_index, inv.last_failure_related_entry_name as last_failure_entry_name, inv.last_failure_related_entry_type as last_failure_entry_ty, inv.last_attempt_deployment_id, inv.last_attempt_server, inv.next_retry_at, inv.last_start_at, inv.invoked_by_id, inv.invoked_by_target, inv.trace_id, inv.completion_result, inv.completion_failure, dp.id IS NOT NULL as pinned_deployment_exists FROM sys_invocation inv LEFT JOIN sys_deployment dp ON dp.id = inv.pinned_deployment_id WHERE inv.id in ($ids) ORDER BY inv.created_at DESC, inv.id",
  ],
  [
    "Q7 on a deployment",
    "SELECT COUNT(1) AS inv_count FROM sys_invocation_status WHERE pinned_deployment_id = '$deployment' AND status != 'completed'",
  ],
  [
    "Q8 on a deployment, by handler",
    "SELECT target_service_name as service, target_handler_name as handler, COUNT(1) AS inv_count FROM sys_invocation_status WHERE pinned_deployment_id = '$deployment' AND status != 'completed' GROUP BY pinned_deployment_id, target_service_name, target_handler_name",
  ],
  [
    "Q9 count of a sample",
    "SELECT COUNT(1) FROM (SELECT * FROM sys_invocation inv LIMIT 50000 ) WHERE inv.target_service_name IN ('Bench') AND status != 'completed'",
  ],
  [
    "Q10a columns",
    "SELECT COUNT(*) FROM information_schema.columns WHERE table_name = 'sys_journal' AND column_name IN ('promise_name')",
  ],
  [
    "Q10 journal",
    "SELECT sj.index, sj.entry_type, sj.completed, sj.invoked_id, sj.invoked_target, sj.sleep_wakeup_at, sj.name, sj.promise_name, sj.version, sj.entry_json, sj.appended_at FROM sys_journal sj WHERE sj.id = '$id' ORDER BY index DESC LIMIT 100",
  ],
  [
    "Q11 by target",
    "SELECT id, target FROM sys_invocation_status WHERE target LIKE 'Sleeper/%' AND status != 'completed' LIMIT 500",
  ],
  ["console: head of the list", "SELECT id FROM sys_invocation ORDER BY created_at DESC, id LIMIT 200"],
  [
    "console: ids of all",
    "SELECT string_agg(id, ' ') AS ids FROM (SELECT id FROM sys_invocation ORDER BY created_at DESC, id LIMIT 250000)",
  ],
  [
    "console: rows of 100",
    "SELECT id, target_service_name, target_service_key, target_handler_name, status, completion_result, completion_failure, created_at, completed_at, retry_count, last_failure FROM sys_invocation WHERE id IN ($ids)",
  ],
  ["Q12 state of a key", "select key, value from state where service_name = 'Counter' and service_key = 'k1' ;"],
  ["Q13 state of a service", "SELECT service_name, service_key, key, value FROM state WHERE service_name = 'Counter'"],
  ["Q14 rules", "SELECT pattern, concurrency, description, disabled, version, last_modified FROM sys_rules ORDER BY pattern"],
  [
    "Q15 one rule",
    "SELECT pattern, concurrency, description, disabled, version, last_modified FROM sys_rules WHERE pattern = 's1/*'",
  ],
  [
    "Q16 queues",
    "SELECT id, is_active, queue_is_paused, service_name, scope, limit_key, lock_name, created_at, last_enqueued_at, last_start_at, last_attempt_at, last_finish_at, num_inbox, num_running, num_suspended, num_paused, num_finished FROM sys_vqueue_meta LIMIT 100",
  ],
  ["Q17 one queue", "SELECT id, is_active, queue_is_paused, service_name, num_inbox FROM sys_vqueue_meta WHERE id = 'vq_none'"],
  [
    "Q18 entries of a queue",
    "SELECT entry_id, entry_kind, stage, status, has_lock, created_at, num_attempts, deployment FROM sys_vqueues WHERE id = 'vq_none'  LIMIT 100",
  ],
];

/** Statements of the load: those that read everything. */
const HEAVY = ["count by status", "group by service", "Q2 services status", "Q5 list, all", "Q4 holders of keys"];

async function ask(server, query) {
  const answer = await fetch(`${server.admin}/query`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ query }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${answer.status} ${text} for ${query}`);
  return JSON.parse(text).rows;
}

/** Fills the data of a server that is stopped; see `seed.ts`. It has registered its deployment before. */
export function seed(server, count, deployment) {
  const directory = join(server.data, "data/node1/db/level");
  execFileSync(
    process.execPath,
    [
      join(root, "deploy/run-ts.mjs"),
      join(import.meta.dirname, "seed.ts"),
      directory,
      String(PARTITIONS),
      String(count),
      deployment,
    ],
    { stdio: "inherit" },
  );
}

/** Milliseconds of each statement on its own, best and median of `rounds`, and the number of invocations there were. */
export async function measureStatements(server, rounds) {
  const [{ n: invocations }] = await ask(server, "SELECT COUNT(*) AS n FROM sys_invocation_status");
  const sample = await ask(
    server,
    "SELECT id, pinned_deployment_id FROM sys_invocation_status WHERE target = 'Bench/three' LIMIT 100",
  );
  const fill = (sql) =>
    sql
      .replace("$ids", sample.map(({ id }) => `'${id}'`).join(","))
      .replace("$id", sample[0].id)
      .replace("$deployment", sample[0].pinned_deployment_id);
  const figures = [];
  for (const [name, sql] of STATEMENTS) {
    const times = [];
    for (let round = 0; round < rounds + 1; round++) {
      const began = performance.now();
      await ask(server, fill(sql));
      if (round > 0) times.push(performance.now() - began); // The first one compiles.
    }
    times.sort((a, b) => a - b);
    figures.push({ name, medianMs: times[Math.floor(times.length / 2)], worstMs: times.at(-1) });
  }
  return { invocations, figures };
}

/** Rounds of the same load, by turns without and with statements back to back. */
export async function measureLoad(server, load, rounds) {
  const heavy = STATEMENTS.filter(([name]) => HEAVY.includes(name)).map(([, sql]) => sql);
  const figures = { without: [], with: [] };
  let asked = 0;
  await load();
  for (let round = 0; round < rounds; round++) {
    for (const kind of round % 2 === 0 ? ["without", "with"] : ["with", "without"]) {
      let isOver = false;
      const asking = (async () => {
        while (kind === "with" && !isOver) {
          await ask(server, heavy[asked % heavy.length]);
          asked++;
        }
      })();
      figures[kind].push(await load());
      isOver = true;
      await asking;
    }
  }
  return { ...figures, asked };
}

const INVOCATIONS = 100_000;
const CONNECTIONS = 16;
const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

/** All of it on a server of its own: a section of docs/benchmarks.md. */
export async function measureQueries({ rounds, seconds, say, machine, commit }) {
  using endpoint = await startEndpoint(19_190);
  await using server = new Server("perdure", 19_220);
  await server.start();
  await server.register(endpoint.uri);
  const { deployments } = await (await fetch(`${server.admin}/deployments`)).json();
  await server.stop();
  say(`writing ${INVOCATIONS} invocations …`);
  seed(server, INVOCATIONS, deployments[0].id);
  await server.start();
  const before = residentMiB(server.pid);
  const { invocations, figures } = await measureStatements(server, rounds);
  const after = residentMiB(server.pid);
  for (const { name, medianMs } of figures) say(`${name}: ${medianMs.toFixed(0)} ms`);
  const load = await measureLoad(server, () => wrkBeside(server.ingress, "noop", CONNECTIONS, seconds), rounds);
  const of = (kind, name) => median(load[kind].map((figure) => figure[name]));
  const growth = (of("with", "p99") / of("without", "p99") - 1) * 100;
  say(`p99 of calls: ${of("without", "p99")} ms without queries, ${of("with", "p99")} ms with (${growth.toFixed(0)} %)`);
  const rows = figures.map(
    ({ name, medianMs, worstMs }) =>
      `| ${name} | ${medianMs.toFixed(0)} | ${worstMs.toFixed(0)} | ${medianMs <= 500 ? "yes" : "**no**"} |`,
  );
  return `## Queries

\`make bench ONLY=queries\` on ${new Date().toISOString().slice(0, 10)}, commit ${commit}, Node ${process.version}, ${machine}: ${invocations.toLocaleString("en")} invocations (four
tenths suspended, fifty running, the rest completed, all with journals), one statement at a time, ${rounds} runs after a first one. Goal: ≤ 500 ms.

| Statement | Median, ms | Worst, ms | Reached |
|---|---|---|---|
${rows.join("\n")}

Calls beside it (no-op handler, ${CONNECTIONS} connections, ${rounds} rounds of ${seconds} s without and with statements that read everything back to back, by
turns): p99 ${of("without", "p99").toFixed(0)} ms without, ${of("with", "p99").toFixed(0)} ms with (${growth >= 0 ? "+" : ""}${growth.toFixed(0)} %, goal < 20 %); ${of("without", "perSecond").toFixed(0)} and ${of("with", "perSecond").toFixed(0)} calls/s. p99 of the rounds without: ${load.without.map(({ p99 }) => p99.toFixed(0)).join(", ")}; with: ${load.with.map(({ p99 }) => p99.toFixed(0)).join(", ")}.
The server holds ${before.toFixed(0)} MiB before the first statement and ${after.toFixed(0)} MiB after all of them.
`;
}
