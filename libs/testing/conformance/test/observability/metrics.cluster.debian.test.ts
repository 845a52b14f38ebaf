/** Running programs expose exactly the metrics in the docs. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { faults } from "./faults.js";
import { documentedMetrics } from "./metrics-page.js";
import { Platform } from "./platform.js";
import { aboutRules, goingOn, isAnswered, noneFires, play, type Recording, type Series, show, with_ } from "./playback.js";
import { alerts, dashboards, mentionsIn, recordings as ruleRecordings, withoutVariables } from "./rules.js";
import { type Role, roles, type ScrapedMetric, scrape } from "./scrape.js";

const START_MS = 240_000;
const PLAY_MS = 180_000;
/** Long enough for every range but those of days. */
const SHOWN_MINUTE = 20;
/** Whether these are quiet depends on what else the machine of the test does. */
const ABOUT_THE_MACHINE: ReadonlySet<string> = new Set([
  "PerdureOverheadHigh",
  "PerdureTimersLate",
  "PerdureJournalSlow",
  "PerdureProcessBlocked",
]);
/** Of each server; each sleeps a moment, so that timers and commits are measured. */
const CALLS = 30;
/** What one pod of an environment may cost a Prometheus. */
const SERIES_OF_A_RUNTIME_MAX = 300;

/** The same, of a program of the platform. */
const SERIES_OF_A_POD_MAX = 3_000;
/** Pods that every environment has. */
const OF_RUNTIMES: ReadonlySet<Role> = new Set<Role>(["gateway", "worker"]);

const UNIT_OF_A_NAME = /_(seconds|bytes|records|ratio)(?:_total)?$/;

let platform: Platform;
const metricsByRole = new Map<Role, ReadonlyMap<string, ScrapedMetric>>();
const recordings: Recording[] = [];
beforeAll(async () => {
  platform = await Platform.start();
  await platform.deploy();
  for (const [role, url] of platform.metricsUrls) metricsByRole.set(role, await scrape(url));
  const sinceMs = performance.now();
  await platform.work(CALLS);
  for (const [role, url] of platform.metricsUrls) {
    const later = await scrape(url);
    const seconds = (performance.now() - sinceMs) / 1000;
    const target = { job: role, instance: new URL(url).host, pod: `${role}-0` };
    recordings.push({ target, earlier: metricsByRole.get(role) as ReadonlyMap<string, ScrapedMetric>, later, seconds });
  }
}, START_MS);
afterAll(() => platform[Symbol.asyncDispose](), 60_000);

describe("docs/operating/metrics.md", () => {
  test.each(roles)("names the metrics of %s, and nothing else", (role) => {
    const documented = [...documentedMetrics().values()].filter((metric) => metric.roles.has(role)).map(({ name }) => name);
    expect([...(metricsByRole.get(role) ?? new Map()).keys()].toSorted()).toEqual(documented.toSorted());
  });

  test.each(roles)("gives type, labels and meaning as %s does", (role) => {
    const documented = documentedMetrics();
    for (const { name, type, help, labels } of metricsByRole.get(role)?.values() ?? []) {
      const row = documented.get(name);
      expect({ name, type: row?.type, meaning: row?.meaning }).toEqual({ name, type, meaning: help });
      for (const label of labels) expect(`${name} ${[...(row?.labels ?? [])].join(" ")}`.split(" ")).toContain(label);
    }
  });

  test("has units that names say, and counters that say that they count", () => {
    for (const { name, type, unit } of documentedMetrics().values()) {
      expect([name, unit]).toEqual([name, UNIT_OF_A_NAME.exec(name)?.[1] ?? "count"]);
      expect([name, name.endsWith("_total")]).toEqual([name, type === "counter"]);
    }
  });

  test("lets no text of users become a label", () => {
    const documented = [...documentedMetrics().values()];
    const ofEnvironments = documented.filter((metric) => metric.labels.has("env")).map(({ name }) => name);
    expect(ofEnvironments).toEqual([
      "perdure_cloud_gateway_environment_requests_total",
      "perdure_operator_environment_ready",
      "perdure_operator_redis_promotion_refused",
    ]);
    const labels = new Set(documented.flatMap((metric) => [...metric.labels]));
    for (const label of ["environment", "account", "service", "handler", "key", "path", "invocation", "message"]) {
      expect([...labels]).not.toContain(label);
    }
  });
});

describe("what users say", () => {
  const seriesOf = async (): Promise<ReadonlyMap<Role, readonly string[]>> => {
    const result = new Map<Role, readonly string[]>();
    for (const [role, url] of platform.metricsUrls)
      result.set(
        role,
        [...(await scrape(url)).values()].flatMap(({ samples }) => [...samples.keys()]),
      );
    return result;
  };

  test(
    "becomes no series, and the series of one program stay within what a Prometheus can bear",
    async () => {
      await platform.say("zebra");
      const once = await seriesOf();
      await platform.say("giraffe");
      const twice = await seriesOf();
      for (const role of roles) {
        const [before, after] = [once.get(role) ?? [], twice.get(role) ?? []];
        expect([role, after.filter((series) => /zebra|giraffe/.test(series))]).toEqual([role, []]);
        expect([role, after.filter((series) => !before.includes(series))]).toEqual([role, []]);
        expect([role, after.length < (OF_RUNTIMES.has(role) ? SERIES_OF_A_RUNTIME_MAX : SERIES_OF_A_POD_MAX)]).toEqual([
          role,
          true,
        ]);
      }
    },
    PLAY_MS,
  );
});

test("a server at rest costs a Prometheus little", () => {
  const series = [...(metricsByRole.get("standalone")?.values() ?? [])].reduce((sum, { samples }) => sum + samples.size, 0);
  expect(series).toBeGreaterThan(50);
  expect(series).toBeLessThan(SERIES_OF_A_RUNTIME_MAX);
});

describe("alerts on series of running programs", () => {
  // As in a cell: one operator leads, although this test has no API server for it.
  const healthy = (): readonly Series[] =>
    with_(aboutRules(goingOn(recordings)), [{ series: 'perdure_operator_leader{pod="operator-0"}', values: "1+0x480" }]);

  test("work was done and recorded", () => {
    const series = goingOn(recordings);
    const moving = (name: string) => series.some((each) => each.series.startsWith(`${name}{`) && !/\+0\.0+x/.test(each.values));
    for (const name of [
      "perdure_gateway_requests_total",
      "perdure_gateway_overhead_seconds_bucket",
      "perdure_worker_attempts_total",
      "perdure_worker_schedule_delay_seconds_bucket",
      "perdure_worker_journal_append_duration_seconds_bucket",
      "perdure_worker_timer_lateness_seconds_bucket",
      "perdure_worker_journal_bytes_total",
      "perdure_worker_invocations_completed_total",
    ]) {
      expect([name, moving(name)]).toEqual([name, true]);
    }
  });

  test(
    "none fires while all continues as it was",
    async () => {
      const expected = [20, 120, 479].flatMap(noneFires).filter(({ alert }) => !ABOUT_THE_MACHINE.has(alert));
      const result = await play([{ name: "as it was", series: healthy(), expected }]);
      expect(result.output).toContain("SUCCESS");
      expect(result.isGood).toBe(true);
    },
    PLAY_MS,
  );

  test(
    "each fires when what it is about happens, and not before it has lasted",
    async () => {
      expect(faults.map(({ alert }) => alert)).toEqual(alerts().map(({ name }) => name));
      const plays = faults.map(({ alert, series, quietMinute, firesMinute }) => ({
        name: alert,
        series: with_(healthy(), series),
        expected: [
          { alert, minute: quietMinute, fires: false },
          { alert, minute: firesMinute, fires: true },
        ],
      }));
      const result = await play(plays);
      expect(result.output).toContain("SUCCESS");
      expect(result.isGood).toBe(true);
    },
    PLAY_MS,
  );
});

describe("dashboards on series of running programs", () => {
  const expressions = dashboards().flatMap(({ panels }) =>
    panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => withoutVariables(expr))),
  );
  const recorded = ruleRecordings();
  /** Replaces names of recording rules by their expressions. */
  const whole = (expression: string): string =>
    [expression, ...[...recorded].filter(([name]) => expression.includes(name)).map(([, definition]) => definition)].join("\n");
  const usedMetrics = new Set(expressions.flatMap((expression) => mentionsIn(whole(expression)).map(({ metric }) => metric)));
  const playedSeries = (): readonly Series[] =>
    goingOn(recordings).filter(({ series }) => usedMetrics.has(series.replace(/\{.*$/, "")));

  test(
    "show data wherever their metrics exist",
    async () => {
      const series = playedSeries();
      const answered = expressions.filter((expression) => isAnswered(whole(expression), series));
      // Expressions that need an API server, users of the cloud, or a failure have no result here.
      expect(answered.length).toBeGreaterThan((expressions.length * 2) / 3);
      const result = await show(answered, series, SHOWN_MINUTE);
      expect(result.output).toContain("SUCCESS");
      expect(result.isGood).toBe(true);
    },
    PLAY_MS,
  );

  test(
    "are found out when they show nothing",
    async () => {
      const series = playedSeries();
      const expression = "histogram_quantile(0.99, sum(rate(perdure_gateway_overhead_seconds_bucket[5m])))";
      expect(isAnswered(expression, series)).toBe(true);
      // It has lost its buckets on the way.
      expect((await show([expression], series, SHOWN_MINUTE)).isGood).toBe(false);
    },
    PLAY_MS,
  );
});
