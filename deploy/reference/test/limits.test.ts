/** docs/concepts/limits.md has the values of the code: defaults of settings, and constants of `limits.ts`. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { dottedName, settingTree } from "@perdure/process-kit";
import { settings } from "@perdure/standalone/settings";
import * as grpc from "../../../libs/adapters/grpc/src/limits.js";
import * as http from "../../../libs/adapters/http-client/src/limits.js";
import * as lambda from "../../../libs/adapters/lambda/src/limits.js";
import * as contract from "../../../libs/clients/admin-contract/src/limits.js";
import * as manifest from "../../../libs/core/manifest/src/limits.js";
import * as protocol from "../../../libs/core/service-protocol/src/limits.js";
import * as sql from "../../../libs/engine/introspection/src/limits.js";
import * as processor from "../../../libs/engine/partition-processor/src/limits.js";
import * as schedules from "../../../libs/engine/schedules/src/limits.js";
import * as listener from "../../../libs/platform/http-server/src/limits.js";
import * as admin from "../../../services/admin-api/src/limits.js";
import * as cloudGateway from "../../../services/cloud-gateway/src/limits.js";
import * as ingress from "../../../services/ingress-gateway/src/limits.js";
import * as worker from "../../../services/invoker-worker/src/limits.js";
import * as registry from "../../../services/registry/src/limits.js";

const ROOT = resolve(fileURLToPath(import.meta.url), "../../../..");
const PAGE = readFileSync(join(ROOT, "docs/concepts/limits.md"), "utf8");

interface Row {
  readonly name: string;
  readonly value: string;
  readonly setting: string;
}

const rows: readonly Row[] = PAGE.split("\n")
  .filter((line) => line.startsWith("| ") && !line.startsWith("|---"))
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .map(([, name = "", value = "", setting = ""]) => ({ name, value, setting }));

function rowValue(name: string): string {
  const matching = rows.filter((row) => row.name === name);
  expect([name, matching.length]).toEqual([name, 1]);
  return matching[0]?.value ?? "";
}

const count = (value: number): string => value.toLocaleString("en-US");

function bytes(value: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB"];
  let unit = 0;
  while (value >= 1024 && value % 1024 === 0 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value} ${units[unit]}`;
}

function time(ms: number): string {
  const units: readonly (readonly [number, string])[] = [
    [86_400_000, "day"],
    [3_600_000, "hour"],
    [60_000, "minute"],
  ];
  const [size, name] = units.find(([unit]) => ms % unit === 0) ?? [1_000, "s"];
  const amount = ms / size;
  return name === "s" || amount === 1 ? `${amount} ${name}` : `${amount} ${name}s`;
}

test.each([
  ["the same, with a warning in the log", bytes(protocol.messageBytesWarn)],
  ["body of a request to the ingress", bytes(ingress.requestBytesMaxDefault)],
  [
    "one message of a handler: a step's result, a state value, the payload of a call, the result",
    bytes(protocol.messageBytesMaxDefault),
  ],
  ["one message between processes of a cluster", bytes(grpc.MESSAGE_BYTES_MAX)],
  ["payload of a schedule", `${bytes(schedules.PAYLOAD_BYTES_MAX)}; ${bytes(schedules.ALL_PAYLOADS_BYTES_MAX)} of all schedules`],
  ["one value in a SQL statement", bytes(sql.CELL_BYTES_MAX)],
  ["body of a state edit through the management API", bytes(admin.STATE_BODY_BYTES_MAX)],
  ["nesting of combined futures", `${count(protocol.futureDepthMax)} levels`],
  [
    "journal that a deploy check replays",
    `${count(registry.CHECKED_ENTRIES_MAX)} entries, ${bytes(registry.CHECKED_JOURNAL_BYTES_MAX)}`,
  ],
  ["time to connect to an endpoint", time(http.CONNECT_TIMEOUT_MS)],
  ["streams to one endpoint", `${http.SESSIONS_PER_ORIGIN_MAX} connections of ${http.STREAMS_PER_SESSION_MAX} streams`],
  ["key of a schedule's target", `${count(schedules.KEY_CHARS_MAX)} characters`],
  ["name of a schedule", `${schedules.NAME_CHARS_MAX} characters`],
  ["services of a deployment; handlers of a service", `${count(manifest.SERVICES_MAX)} each`],
  ["manifest of an endpoint", bytes(manifest.MANIFEST_BYTES_MAX)],
  ["request line and headers", bytes(ingress.headerBytesMax)],
  ["header lines", count(ingress.headerLinesMax)],
  ["bodies in memory at one time", bytes(ingress.bufferedBodyBytesMaxDefault)],
  [
    "time for a body to arrive",
    `${time(ingress.bodyTimeoutMsDefault)}, and ${listener.bodyBytesPerSecondMin} bytes a second on average after ${time(listener.bodyRateGraceMs)}`,
  ],
  ["time for headers to arrive", time(listener.headersTimeoutMsDefault)],
  ["streams of an HTTP/2 connection", count(listener.concurrentStreamsMaxDefault)],
  ["connections at one port", count(listener.connectionsMaxDefault)],
  [
    "work that waits in one process",
    `${count(processor.MAILBOX_COMMANDS_MAX)} commands or ${bytes(processor.MAILBOX_BYTES_MAX)}`,
  ],
  ["wait for a leader in a cluster", time(grpc.LEADER_WAIT_MS)],
  ["body", bytes(admin.REQUEST_BODY_BYTES_MAX)],
  ["items of a page", count(contract.PAGE_ITEMS_MAX)],
  ["invocations of one batch", `${count(contract.BATCH_MATCHED_MAX)} by a filter, ${count(contract.BATCH_NAMED_IDS_MAX)} by ids`],
  ["batches that run", count(admin.BATCHES_RUNNING_MAX)],
  ["time of a SQL statement", time(sql.STATEMENT_TIMEOUT_MS)],
  ["deployments", count(registry.DEPLOYMENTS_MAX)],
  ["subscriptions", count(registry.SUBSCRIPTIONS_MAX)],
  ["Kafka clusters", count(registry.KAFKA_CLUSTERS_MAX)],
  ["schedules", count(schedules.SCHEDULES_MAX)],
  ["rules of flow control", count(registry.RULES_MAX)],
  [
    "partitions of a new data directory",
    `${worker.PARTITION_COUNT_DEFAULT}; at most ${count(worker.PARTITION_COUNT_SETTING_MAX)}`,
  ],
])("%s: %s", (name, expected) => {
  expect(rowValue(name).slice(0, expected.length)).toBe(expected);
});

test("the requests of the management API, the gateway of the cloud and Lambda are as in the text", () => {
  expect(rows.filter(({ name, value }) => name === "requests at one time" && value === count(admin.REQUESTS_MAX))).toHaveLength(
    1,
  );
  const gateway = `${bytes(cloudGateway.HEADER_BYTES_MAX)} and ${cloudGateway.HEADER_LINES_MAX} lines of headers`;
  expect(PAGE).toContain(gateway);
  expect(PAGE).toContain(`${count(cloudGateway.TARGET_CHARS_MAX)} characters of path and query`);
  expect(PAGE).toContain(`from ${bytes(lambda.COMPRESS_FROM_BYTES)} on requests are compressed`);
});

// ── settings ─────────────────────────────────────────────────────────────────────────────────────

/** Defaults of `perdure server` by name, as settings show them. */
function defaults(): ReadonlyMap<string, string | undefined> {
  const shown = new Map<string, string | undefined>();
  const collect = (node: ReturnType<typeof settingTree>, value: unknown): void => {
    if (node.kind === "setting") {
      shown.set(dottedName(node.path), node.facts.show(value));
      return;
    }
    const values = new Map(Object.entries(value ?? {}));
    for (const [name, member] of node.members) collect(member, values.get(name));
  };
  collect(settingTree(settings), settings.parse(undefined));
  return shown;
}

/** "1m" → "1 minute", "32 MiB" and 100000 → "100,000". */
function readable(shown: string): string {
  const text = shown.replaceAll('"', "");
  const unit = { s: "s", m: "minute", h: "hour", d: "day" }[text.slice(-1)];
  const amount = Number(text.slice(0, -1));
  if (unit !== undefined && Number.isInteger(amount)) return `${amount} ${unit}${unit === "s" || amount === 1 ? "" : "s"}`;
  return /^\d+$/.test(text) ? count(Number(text)) : text;
}

/** Rows that describe a value in words. */
const IN_WORDS: ReadonlySet<string> = new Set([
  "worker.invoker.concurrent-invocations-limit",
  "worker.invoker.eager-state-size-limit",
]);

const all = defaults();
const withSetting = rows.flatMap(({ name, value, setting }) => {
  const [, dotted = ""] = /^`([a-z][a-z.-]+)`/.exec(setting) ?? [];
  return dotted === "" || !dotted.includes(".") ? [] : [{ name, value, dotted }];
});

test("every setting on the page exists", () => {
  expect(withSetting.length).toBeGreaterThan(20);
  expect(withSetting.filter(({ dotted }) => !all.has(dotted)).map(({ dotted }) => dotted)).toEqual([]);
});

test.each(withSetting.filter(({ dotted, value }) => !IN_WORDS.has(dotted) && !value.startsWith("as ")))(
  "$dotted has the default that the page says",
  ({ dotted, value }) => {
    const shown = all.get(dotted);
    if (shown === undefined) expect(value).toMatch(/^(unlimited|no fixed limit|[\d,]+$)/);
    else expect(value).toContain(readable(shown));
  },
);
