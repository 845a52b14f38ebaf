/** The quota of an environment's namespace: what its spec adds up to and no more, whatever goes wrong inside (kubernetes.md §2). */
import type { EnvironmentResource } from "@perdure/custom-resources";
import { type KubeObject, resources } from "@perdure/kubernetes";
import { childOf } from "./labels.js";
import { redisPods } from "./redis.js";
import { redisMemory } from "./redis-memory.js";
import { frontRequests, quantityOf, workersMax } from "./sizes.js";
import { frontReplicas, workerRequests } from "./workers.js";

/** During an update, pods of both versions exist. */
const SURGE = 2;
const CONTAINERS_OF_FRONT = 3;
/** Backups and restores need a volume beside the one in use. */
const VOLUMES = 2;
/** Pods that jobs may have beside the runtime's. */
const JOBS = 2;
const MIB = 1024 ** 2;

export function quotas(environment: EnvironmentResource): KubeObject[] {
  const { requests: redis } = redisMemory(environment);
  const requests = workerRequests(environment);
  const front = frontRequests(environment);
  const workers = workersMax(environment) + 1; // A rolling update replaces one at a time.
  const fronts = Math.max(1, frontReplicas(environment)) * SURGE;
  const redises = Math.max(redisPods(environment), 0);
  const cpu =
    workers * quantityOf(requests.cpu) +
    fronts * CONTAINERS_OF_FRONT * quantityOf(front.cpu) +
    (redises + JOBS) * quantityOf(redis.cpu);
  const memory =
    workers * quantityOf(requests.memory) +
    fronts * CONTAINERS_OF_FRONT * quantityOf(front.memory) +
    (redises + JOBS) * quantityOf(redis.memory);
  const volume = environment.spec.redis.bundled?.size;
  const hard = {
    pods: String(workers + fronts + redises + JOBS),
    "requests.cpu": `${Math.ceil(cpu * 1000)}m`,
    "requests.memory": `${Math.ceil(memory / MIB)}Mi`,
    "services.loadbalancers": "0",
    "services.nodeports": "0",
    ...(volume === undefined ? {} : { "requests.storage": `${Math.ceil((quantityOf(volume) * VOLUMES * redises) / MIB)}Mi` }),
  };
  const defaults = { type: "Container", default: { memory: "256Mi" }, defaultRequest: { cpu: "50m", memory: "128Mi" } };
  return [
    childOf(environment, { ...resources.resourceQuotas, name: "env" }, { spec: { hard } }),
    childOf(environment, { ...resources.limitRanges, name: "env" }, { spec: { limits: [defaults] } }),
  ];
}
