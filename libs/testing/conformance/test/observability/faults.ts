/** Why: for each alert the series of what it is about, so that a test can show that it fires, and that it does not fire before. */
import { MINUTES, type Series } from "./playback.js";

export interface Fault {
  readonly alert: string;
  readonly series: readonly Series[];
  /** Too early: it has not lasted yet. */
  readonly quietMinute: number;
  readonly firesMinute: number;
}

const always = (series: string, value: number): Series => ({ series, values: `${value}+0x${MINUTES}` });
const rising = (series: string, from: number, perMinute: number): Series => ({
  series,
  values: `${from}+${perMinute}x${MINUTES}`,
});

/** All that is counted lies in the bucket that ends at `slow`. */
function slow(metric: string, labels: string, below: number, above: number): readonly Series[] {
  const bucket = (le: string, perMinute: number) =>
    rising(`${metric}_bucket{${labels}${labels === "" ? "" : ","}le="${le}"}`, 0, perMinute);
  return [bucket(String(below), 0), bucket(String(above), 600), bucket("+Inf", 600)];
}

const requests = (failed: number): readonly Series[] => [
  rising('perdure_gateway_requests_total{kind="call",code="2xx",outcome="ok"}', 0, 10_000),
  rising('perdure_gateway_requests_total{kind="call",code="5xx",outcome="upstream"}', 0, failed),
];

const environments = (failed: number, deleting: number): readonly Series[] => [
  always('perdure_tenancy_environments{state="active",instance="a"}', 100),
  always('perdure_tenancy_environments{state="failed",instance="a"}', failed),
  always('perdure_tenancy_environments{state="deleting",instance="a"}', deleting),
];

export const faults: readonly Fault[] = [
  { alert: "PerdureFastBurn", series: requests(100), quietMinute: 1, firesMinute: 10 },
  { alert: "PerdureSlowBurn", series: requests(50), quietMinute: 10, firesMinute: 60 },
  {
    alert: "PerdureOverheadHigh",
    series: slow("perdure_gateway_overhead_seconds", 'kind="call"', 0.25, 0.5),
    quietMinute: 5,
    firesMinute: 30,
  },
  {
    alert: "PerdureTimersLate",
    series: slow("perdure_worker_timer_lateness_seconds", "", 2.5, 5),
    quietMinute: 5,
    firesMinute: 30,
  },
  {
    alert: "PerdureAdminErrors",
    series: [
      rising('perdure_admin_requests_total{operation="GET /version",code="2xx"}', 0, 100),
      rising('perdure_admin_requests_total{operation="POST /query",code="5xx"}', 0, 5),
    ],
    quietMinute: 5,
    firesMinute: 30,
  },
  { alert: "PerdureWorkersRedisDown", series: [always("perdure_worker_redis_up", 0)], quietMinute: 1, firesMinute: 4 },
  { alert: "PerdureDataSetMismatch", series: [always("perdure_worker_data_set_mismatch", 1)], quietMinute: 0, firesMinute: 2 },
  { alert: "PerdureRedisMemory", series: [always("perdure_worker_redis_memory_ratio", 0.9)], quietMinute: 5, firesMinute: 12 },
  {
    alert: "PerdureRedisMemoryCritical",
    series: [always("perdure_worker_redis_memory_ratio", 0.96)],
    quietMinute: 3,
    firesMinute: 7,
  },
  {
    alert: "PerdureJournalSlow",
    series: slow("perdure_worker_journal_append_duration_seconds", 'result="written"', 0.5, 1),
    quietMinute: 5,
    firesMinute: 30,
  },
  {
    alert: "PerdureJournalFailed",
    series: [
      { series: 'perdure_worker_journal_append_duration_seconds_count{result="failed"}', values: `0+0x19 1+0x${MINUTES}` },
    ],
    quietMinute: 15,
    firesMinute: 22,
  },
  {
    alert: "PerdureDispatchStall",
    series: [rising("perdure_worker_oldest_ready_age_seconds", 0, 60)],
    quietMinute: 6,
    firesMinute: 12,
  },
  {
    alert: "PerdureSlotsExhausted",
    series: [rising("perdure_worker_oldest_ready_age_seconds", 0, 60)],
    quietMinute: 1,
    firesMinute: 4,
  },
  { alert: "PerdureFencedWrites", series: [rising("perdure_worker_fenced_writes_total", 0, 2)], quietMinute: 2, firesMinute: 20 },
  {
    alert: "PerdureEndpointsUnreachable",
    series: [
      rising('perdure_worker_attempts_total{result="ok"}', 0, 10),
      rising('perdure_worker_attempts_total{result="unreachable"}', 0, 30),
    ],
    quietMinute: 10,
    firesMinute: 40,
  },
  {
    alert: "PerdureKafkaLagGrowing",
    series: [rising("perdure_worker_kafka_lag_records", 2_000, 10)],
    quietMinute: 20,
    firesMinute: 60,
  },
  { alert: "PerdureKafkaStuck", series: [always("perdure_worker_kafka_subscriptions_stuck", 1)], quietMinute: 3, firesMinute: 7 },
  { alert: "PerdureNoScheduler", series: [always("perdure_registry_leading", 0)], quietMinute: 3, firesMinute: 7 },
  {
    alert: "PerdurePartitionsWithoutLeader",
    series: [
      always('perdure_worker_partitions_expected{pod="worker-0"}', 24),
      always('perdure_worker_partitions{pod="worker-0",role="owner"}', 23),
    ],
    quietMinute: 1,
    firesMinute: 3,
  },
  {
    alert: "PerdureComponentAbsent",
    series: [{ series: 'perdure_build_info{role="operator"}', values: "1x20 stale" }],
    quietMinute: 22,
    firesMinute: 30,
  },
  {
    alert: "PerdureEnvironmentSilent",
    series: [
      always('perdure_operator_environment_ready{env="env_b"}', 1),
      ...["invoker-worker", "registry", "admin-api"].map((role) => always(`perdure_build_info{env="env_b",role="${role}"}`, 1)),
    ],
    quietMinute: 5,
    firesMinute: 12,
  },
  {
    alert: "PerdureEnvironmentDown",
    series: [{ series: 'perdure_operator_environment_ready{env="env_b"}', values: `1x20 0x${MINUTES}` }],
    quietMinute: 25,
    firesMinute: 40,
  },
  {
    alert: "PerdureTargetDown",
    series: [
      { series: 'perdure_build_info{job="registry",instance="gone:1",role="registry"}', values: "1x20 stale" },
      { series: 'up{job="registry",instance="gone:1"}', values: `1x20 0x${MINUTES}` },
    ],
    quietMinute: 22,
    firesMinute: 40,
  },
  { alert: "PerdureEnvironmentsFailed", series: environments(5, 0), quietMinute: 5, firesMinute: 12 },
  {
    alert: "PerdureEnvironmentsNotErased",
    series: [{ series: 'perdure_tenancy_environments{state="deleting",instance="a"}', values: `0+0x9 1+0x${MINUTES}` }],
    quietMinute: 300,
    firesMinute: 400,
  },
  {
    alert: "PerdureTenancyDatabaseAway",
    series: [rising("perdure_tenancy_sync_age_seconds", 0, 60)],
    quietMinute: 2,
    firesMinute: 6,
  },
  {
    alert: "PerdureCredentialsStale",
    series: [rising("perdure_cloud_gateway_credential_stale_total", 0, 6)],
    quietMinute: 3,
    firesMinute: 10,
  },
  {
    alert: "PerdureGatewayRefusals",
    series: [
      rising('perdure_cloud_gateway_requests_total{door="ingress",code="2xx",outcome="runtime"}', 0, 100),
      rising('perdure_cloud_gateway_requests_total{door="ingress",code="5xx",outcome="gateway"}', 0, 5),
      // At first all of them are callers of environments that are being woken.
      { series: 'perdure_cloud_gateway_refusals_total{reason="waking"}', values: `0+5x15 75+0x${MINUTES}` },
    ],
    quietMinute: 15,
    firesMinute: 30,
  },
  {
    alert: "PerdureCertExpiry",
    series: [always('perdure_tunnel_tls_cert_expiry_seconds{job="tunnel-relay"}', 864_000)],
    quietMinute: 50,
    firesMinute: 62,
  },
  {
    alert: "PerdureProcessBlocked",
    series: [always('nodejs_eventloop_lag_seconds{job="worker"}', 0.4)],
    quietMinute: 5,
    firesMinute: 12,
  },
  {
    alert: "PerdureUncaughtConnectionErrors",
    series: [{ series: 'perdure_uncaught_connection_errors_total{job="cloud-gateway"}', values: `0x10 1+0x${MINUTES}` }],
    quietMinute: 9,
    firesMinute: 15,
  },
  {
    alert: "PerdureSqlProcessesEnd",
    series: [{ series: 'perdure_sql_processes_ended_total{job="admin",reason="time"}', values: `0x10 0+1x${MINUTES}` }],
    quietMinute: 13,
    firesMinute: 20,
  },
  { alert: "PerdureNoLeader", series: [always("perdure_operator_leader", 0)], quietMinute: 1, firesMinute: 4 },
  {
    alert: "PerdureTwoLeaders",
    series: [always('perdure_operator_leader{pod="a"}', 1), always('perdure_operator_leader{pod="b"}', 1)],
    quietMinute: 1,
    firesMinute: 4,
  },
  {
    alert: "PerdureOperatorStuck",
    series: [rising('perdure_operator_queue_depth{kind="Environment"}', 101, 10)],
    quietMinute: 5,
    firesMinute: 20,
  },
  {
    alert: "PerdureOperatorErrors",
    series: [rising('perdure_operator_reconcile_errors_total{kind="Environment",error="forbidden"}', 0, 60)],
    quietMinute: 10,
    firesMinute: 30,
  },
  {
    alert: "PerdureCrdMissing",
    series: [always('perdure_operator_crd_missing{crd="environments"}', 1)],
    quietMinute: 3,
    firesMinute: 7,
  },
  {
    alert: "PerdureDriftFight",
    series: [rising('perdure_operator_drift_reverts_total{kind="StatefulSet"}', 0, 3)],
    quietMinute: 5,
    firesMinute: 40,
  },
  {
    alert: "PerdureWatchStorm",
    series: [rising('perdure_operator_watch_restarts_total{kind="Secret",reason="error"}', 0, 20)],
    quietMinute: 5,
    firesMinute: 20,
  },
  {
    alert: "PerdureProvisioningSlow",
    series: slow("perdure_operator_time_to_ready_seconds", 'operation="create"', 90, 150),
    quietMinute: 5,
    firesMinute: 30,
  },
  {
    alert: "PerdureEnvNotReady",
    series: [
      always('perdure_operator_environments{phase="Running",reason="Ready"}', 90),
      always('perdure_operator_environments{phase="Degraded",reason="VolumePending"}', 2),
    ],
    quietMinute: 5,
    firesMinute: 12,
  },
  {
    alert: "PerdureEnvDataLost",
    series: [
      always('perdure_operator_environments{phase="Running",reason="Ready"}', 900),
      { series: 'perdure_operator_environments{phase="Degraded",reason="DataLost"}', values: `0+0x9 1+0x${MINUTES}` },
    ],
    quietMinute: 5,
    firesMinute: 12,
  },
  {
    alert: "PerdureRedisPromotionRefused",
    series: [
      {
        series: 'perdure_operator_redis_promotion_refused{env="env_b",reason="ReplicaUnreachable"}',
        values: `_x9 1+0x${MINUTES}`,
      },
    ],
    quietMinute: 9,
    firesMinute: 12,
  },
  {
    alert: "PerdureEnvDeletionStuck",
    series: [rising("perdure_operator_oldest_deletion_seconds", 0, 60)],
    quietMinute: 65,
    firesMinute: 80,
  },
  { alert: "PerdureSnapshotStale", series: [always("perdure_operator_stale_snapshots", 1)], quietMinute: 5, firesMinute: 12 },
  {
    alert: "PerdureVolumeFull",
    series: [
      always('kubelet_volume_stats_used_bytes{namespace="env-a",persistentvolumeclaim="data-redis-0"}', 9e9),
      always('kubelet_volume_stats_capacity_bytes{namespace="env-a",persistentvolumeclaim="data-redis-0"}', 10e9),
    ],
    quietMinute: 5,
    firesMinute: 12,
  },
  {
    alert: "PerdureGlobalSyncStale",
    series: [rising("perdure_gateway_route_sync_age_seconds", 0, 60)],
    quietMinute: 65,
    firesMinute: 80,
  },
];
