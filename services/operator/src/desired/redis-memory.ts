/**
 * Memory of Redis. A Redis that rewrites its log forks, and every page that is written meanwhile exists twice: a process with 358 MiB was
 * measured with 601 MiB during a rewrite. A container that exceeds its limit is killed, loads its log again, and is killed by the next
 * rewrite.
 */
import type { EnvironmentResource } from "@perdure/custom-resources";
import { lesserQuantity, quantityOf, type ResourceAmounts, sizingOf } from "./sizes.js";

/** Share of the limit that data may use: with both copies of every page a tenth is left for buffers of clients and replicas. */
const DATA_RATIO_MAX = 0.45;
const MIB = 1024 ** 2;

interface RedisMemory {
  readonly requests: ResourceAmounts;
  readonly limits: { readonly cpu?: string | undefined; readonly memory: string };
  /** Bytes for `maxmemory`: whole MiB, at most 45 % of the limit. */
  readonly dataBytes: number;
}

/** The spec's amounts come first; a missing limit follows from the data that it must hold. */
export function redisMemory(environment: EnvironmentResource): RedisMemory {
  const { redis } = sizingOf(environment);
  const { resources, maxMemoryPercent = 0 } = environment.spec.redis.bundled ?? {};
  const { requests = {}, limits = {} } = resources ?? {};
  const memory = requests.memory ?? lesserQuantity(redis.memory, limits.memory);
  const cpu = requests.cpu ?? lesserQuantity(redis.cpu, limits.cpu);
  const desiredMib = inMib(quantityOf(memory) * (maxMemoryPercent / 100));
  const limit = limits.memory ?? `${Math.ceil(Math.max(quantityOf(memory), (desiredMib * MIB) / DATA_RATIO_MAX) / MIB)}Mi`;
  const dataBytes = Math.min(desiredMib, inMib(quantityOf(limit) * DATA_RATIO_MAX)) * MIB;
  return { requests: { cpu, memory }, limits: { ...limits, memory: limit }, dataBytes };
}

const inMib = (bytes: number): number => Math.floor(bytes / MIB);
