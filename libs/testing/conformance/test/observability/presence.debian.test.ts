/** Alerts see absence: of every program of the platform, of every part of one environment among many, and of an environment as a whole. */
import { expect, test } from "@jest/globals";
import { type Expected, MINUTES, noneFires, type Play, play, type Series } from "./playback.js";

const PLAY_MS = 180_000;
const CELL = 'cell="c1"';
/** When the part ends of which nothing is left. */
const ENDS_MINUTE = 30;
const LATER_MINUTE = 50;
/** Environments of the cell. */
const COUNT = 150;
const DEAD = "env_7dead";

const PLATFORM = {
  operator: ["perdure_operator_leader", "1"],
  tenancy: ["perdure_tenancy_sync_age_seconds", "0"],
  "cloud-gateway": ["perdure_cloud_gateway_requests_in_flight", "2"],
  "tunnel-relay": ["perdure_tunnel_connections", "3"],
} as const;
type PlatformRole = keyof typeof PLATFORM;

/** Programs of an environment, each with a series that other rules compare. */
const RUNTIME = {
  "invoker-worker": ["perdure_worker_redis_up", "1"],
  "ingress-gateway": ["perdure_gateway_route_sync_age_seconds", "0"],
  registry: ["perdure_registry_leading", "1"],
  "admin-api": ["nodejs_eventloop_lag_seconds", "0"],
} as const;
type RuntimeRole = keyof typeof RUNTIME;

const always = (series: string, value: string): Series => ({ series, values: `${value}x${MINUTES}` });
const untilItEnds = (series: string, value: string): Series => ({ series, values: `${value}x${ENDS_MINUTE} stale` });

function platform(gone?: PlatformRole): readonly Series[] {
  return (Object.keys(PLATFORM) as PlatformRole[]).flatMap((role) => {
    const [metric, value] = PLATFORM[role];
    const labels = `{${CELL},job="${role}",pod="${role}-0"}`;
    const until = role === gone ? untilItEnds : always;
    return [until(`perdure_build_info${labels.replace("}", `,role="${role}"}`)}`, "1"), until(`${metric}${labels}`, value)];
  });
}

function environment(env: string, gone: readonly RuntimeRole[] = []): readonly Series[] {
  return (Object.keys(RUNTIME) as RuntimeRole[]).flatMap((role) => {
    const [metric, value] = RUNTIME[role];
    const until = gone.includes(role) ? untilItEnds : always;
    const labels = `${CELL},env="${env}",pod="${role}-0"`;
    return [until(`perdure_build_info{${labels},role="${role}"}`, "1"), until(`${metric}{${labels}}`, value)];
  });
}

/** The operator's metric for an environment that must run. */
const ready = (env: string, values: string): Series => ({
  series: `perdure_operator_environment_ready{${CELL},pod="operator-0",env="${env}"}`,
  values,
});
const READY = `1x${MINUTES}`;
const NOT_READY_LATER = `1x${ENDS_MINUTE} 0x${MINUTES}`;

const firesLater = (alert: string, labels: Expected["labels"]): readonly Expected[] => [
  { alert, labels: labels ?? {}, minute: ENDS_MINUTE, fires: false },
  { alert, labels: labels ?? {}, minute: LATER_MINUTE, fires: true },
];

async function expectPlayed(plays: readonly Play[]): Promise<void> {
  const result = await play(plays);
  expect(result.output).toContain("SUCCESS");
  expect(result.isGood).toBe(true);
}

test(
  "nothing fires while all programs of a cell report, and while an environment sleeps or is deleted",
  async () => {
    const all = Object.keys(RUNTIME) as RuntimeRole[];
    const series = [
      ...platform(),
      ...environment("env_awake"),
      ready("env_awake", READY),
      // It goes to sleep: its pods end, and the operator no longer lists it among those that must run.
      ...environment("env_asleep", all),
      ready("env_asleep", `1x${ENDS_MINUTE} stale`),
    ];
    await expectPlayed([{ name: "all is well", series, expected: [20, 40, 200].flatMap(noneFires) }]);
  },
  PLAY_MS,
);

test(
  "everything of a program of the platform is gone: each is missed by its name",
  async () => {
    const roles = Object.keys(PLATFORM) as PlatformRole[];
    const plays = roles.map((role) => ({
      name: role,
      series: [...platform(role), ...environment("env_a"), ready("env_a", READY)],
      expected: [
        ...firesLater("PerdureComponentAbsent", { role, cell: "c1" }),
        ...roles
          .filter((other) => other !== role)
          .map((other) => ({ alert: "PerdureComponentAbsent", labels: { role: other }, minute: LATER_MINUTE, fires: false })),
      ],
    }));
    await expectPlayed(plays);
  },
  PLAY_MS,
);

test(
  "everything of a program of one environment is gone: it is missed with the environment's id, also while the operator changes its leader",
  async () => {
    const plays = (Object.keys(RUNTIME) as RuntimeRole[]).map((role) => ({
      name: role,
      series: [
        ...platform(),
        ...environment(DEAD, [role]),
        ...environment("env_well"),
        ready(DEAD, `1x${ENDS_MINUTE + 8} _x3 1x${MINUTES}`),
        ready("env_well", READY),
      ],
      expected: [
        ...firesLater("PerdureEnvironmentSilent", { role, env: DEAD }),
        { alert: "PerdureEnvironmentSilent", labels: { env: "env_well" }, minute: LATER_MINUTE, fires: false },
      ],
    }));
    await expectPlayed(plays);
  },
  PLAY_MS,
);

test(
  "everything of a program of a cluster without environments is gone: it is missed by its name",
  async () => {
    const plays = (Object.keys(RUNTIME) as RuntimeRole[]).map((role) => ({
      name: role,
      series: (Object.keys(RUNTIME) as RuntimeRole[]).map((each) =>
        (each === role ? untilItEnds : always)(`perdure_build_info{role="${each}",pod="${each}-0"}`, "1"),
      ),
      expected: firesLater("PerdureComponentAbsent", { role }),
    }));
    await expectPlayed(plays);
  },
  PLAY_MS,
);

test(
  "Redis of an environment is gone: its workers report so",
  async () => {
    const down = { series: `perdure_worker_redis_up{${CELL},env="${DEAD}",pod="w"}`, values: `1x${ENDS_MINUTE} 0x${MINUTES}` };
    const series = [...platform(), ...environment("env_well"), ready("env_well", READY), down];
    await expectPlayed([{ name: "Redis", series, expected: firesLater("PerdureWorkersRedisDown", { env: DEAD }) }]);
  },
  PLAY_MS,
);

test(
  "one environment of 150 is dead: it is down, silent, and burns its own error budget at the cloud gateway, and no other does",
  async () => {
    const others = Array.from({ length: COUNT - 1 }, (_, index) => `env_${index}`);
    const all = Object.keys(RUNTIME) as RuntimeRole[];
    const requests = (env: string, outcome: string, values: string): Series => ({
      series: `perdure_cloud_gateway_environment_requests_total{${CELL},pod="gateway-0",env="${env}",outcome="${outcome}"}`,
      values,
    });
    const series = [
      ...platform(),
      ...environment(DEAD, all),
      ready(DEAD, NOT_READY_LATER),
      requests(DEAD, "answered", `0+60x${ENDS_MINUTE} ${60 * ENDS_MINUTE}x${MINUTES}`),
      requests(DEAD, "failed", `0x${ENDS_MINUTE} 0+60x${MINUTES}`),
      ...others.flatMap((env) => [
        ready(env, READY),
        always(`perdure_build_info{${CELL},env="${env}",role="invoker-worker"}`, "1"),
        always(`perdure_build_info{${CELL},env="${env}",role="ingress-gateway"}`, "1"),
        always(`perdure_build_info{${CELL},env="${env}",role="registry"}`, "1"),
        always(`perdure_build_info{${CELL},env="${env}",role="admin-api"}`, "1"),
        requests(env, "answered", `0+60x${MINUTES}`),
        requests(env, "failed", `0x${MINUTES}`),
      ]),
    ];
    const named = (alert: string) => [
      ...firesLater(alert, { env: DEAD }),
      { alert, labels: { env: "env_0" }, minute: LATER_MINUTE, fires: false },
    ];
    const expected = ["PerdureEnvironmentDown", "PerdureEnvironmentSilent", "PerdureFastBurn"].flatMap(named);
    await expectPlayed([{ name: "one of 150", series, expected }]);
  },
  PLAY_MS,
);

test(
  "a busy hour weighs more than an idle night: over a day, failures are divided by requests",
  async () => {
    // Two failures of four requests at night, and none of the 60,000 of the day.
    const counted = (outcome: string, values: string): Series => ({
      series: `perdure_gateway_requests_total{kind="call",outcome="${outcome}"}`,
      values,
    });
    const series = [counted("ok", `0 2x60 2+1000x${MINUTES}`), counted("upstream", `0 2x${MINUTES}`)];
    await expectPlayed([
      {
        name: "no page for two failures",
        series,
        expected: [3, 60, 300].map((minute) => ({ alert: "PerdureFastBurn", minute, fires: false })),
      },
    ]);
  },
  PLAY_MS,
);
