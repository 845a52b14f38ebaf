/** The fields of `Throttle` and `Throttled` of `proto/control/v1/partitions.proto`, written and read by hand as in `exchange.ts`. */
import type { ProtoReader, ProtoWriter } from "@perdure/base";
import type { Throttled, ThrottleKeysFull } from "@perdure/state-machine";
import { checkedInvocationId } from "./schedules.js";

export interface ThrottleBody {
  readonly key: string;
  readonly periodMs: number;
  readonly limit: number;
}

export interface ThrottledBody {
  /** Empty: the partition has as many throttle keys as it may have. */
  readonly newestId: string;
  readonly admittedCount: number;
  readonly retryAtMs: number;
}

export function writeThrottle(writer: ProtoWriter, { key, periodMs, limit }: ThrottleBody): void {
  writer.fork(5).string(1, key).uint64(2, periodMs).uint32(3, limit).join();
}

export function writeThrottled(writer: ProtoWriter, { newestId, admittedCount, retryAtMs }: ThrottledBody): void {
  writer.fork(13).string(1, newestId).uint32(2, admittedCount).uint64(3, retryAtMs).join();
}

export function readThrottle(r: ProtoReader): ThrottleBody {
  let key = "";
  let periodMs = 0;
  let limit = 0;
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 === 1) key = r.string();
    else if (tag >>> 3 === 2) periodMs = r.uint64Number();
    else if (tag >>> 3 === 3) limit = r.uint32();
    else r.skip(tag & 7);
  }
  return { key, periodMs, limit };
}

export function readThrottled(r: ProtoReader): ThrottledBody {
  let newestId = "";
  let admittedCount = 0;
  let retryAtMs = 0;
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 === 1) newestId = r.string();
    else if (tag >>> 3 === 2) admittedCount = r.uint32();
    else if (tag >>> 3 === 3) retryAtMs = r.uint64Number();
    else r.skip(tag & 7);
  }
  return { newestId, admittedCount, retryAtMs };
}

export function throttledBodyOf(refusal: Throttled | ThrottleKeysFull): ThrottledBody {
  if (refusal.kind === "throttleKeysFull") return { newestId: "", admittedCount: 0, retryAtMs: 0 };
  const { newestId, admittedCount, retryAtMs } = refusal;
  return { newestId, admittedCount, retryAtMs };
}

export function refusalOf({ newestId, admittedCount, retryAtMs }: ThrottledBody): Throttled | ThrottleKeysFull {
  if (newestId === "") return { kind: "throttleKeysFull" };
  return { kind: "throttled", newestId: checkedInvocationId(newestId), admittedCount, retryAtMs };
}
