/** Starts real Redis, PostgreSQL and Kafka servers on free ports, and a browser, for tests and for a local cluster. */
export { openBrowser } from "./browser.js";
export { packagedFonts } from "./chromium.js";
export { ControlPlane } from "./control-plane.js";
export { type EmptyDatabase, startDatabase } from "./database.js";
export { cacheDirectory } from "./debian.js";
export { freePortRange, freePorts } from "./free-port.js";
export { runHelm } from "./helm.js";
export {
  buildContextOf,
  type CheckedDockerfile,
  checkDockerfile,
  checkKindConfig,
  type ImageConfig,
  type ImageStage,
  type ImageStep,
  loadComposeFile,
} from "./image-tools.js";
export { type KafkaOptions, KafkaServer, startKafka } from "./kafka.js";
export { KUBERNETES_VERSION } from "./kube-programs.js";
export type { KubernetesAnswer, KubernetesQuestion } from "./kube-request.js";
export { runKubectl } from "./kubectl.js";
export { type KubernetesOptions, KubernetesServer, startKubernetes } from "./kubernetes.js";
export { type LeasedControlPlane, leaseKubernetes } from "./kubernetes-lease.js";
export { PostgresServer, type PostgresServerOptions, startPostgres, startPostgresPatiently } from "./postgres.js";
export { type PromtoolResult, runPromtool } from "./promtool.js";
export {
  type RedisCluster,
  RedisServer,
  type RedisServerOptions,
  type ReplicatedRedis,
  redisProgram,
  startRedis,
  startRedisCluster,
  startReplicatedRedis,
} from "./redis.js";
export { type RedisReply, requestRedis } from "./redis-talk.js";
export { runShellcheck } from "./shellcheck.js";
export { runShell } from "./shells.js";
export { wrkProgram } from "./wrk.js";
