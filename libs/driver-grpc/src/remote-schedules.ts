/** Schedules kept by a registry in another process. */
import { create } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import { PerdureError } from "@perdure/base";
import type { Schedule, Schedules } from "@perdure/schedule";
import { fromJson, toJson } from "./codec/json.js";
import { decodedResult, type ScheduleMethod, type StoredSchedule, scheduleOf } from "./codec/schedules.js";
import { schedulesDefinition } from "./definitions.js";
import { ChangeRequestSchema } from "./gen/v1/registry_pb.js";
import { ListSchedulesRequestSchema } from "./gen/v1/schedules_pb.js";
import { CHANGE_DEADLINE_MS, ROWS_DEADLINE_MS } from "./limits.js";
import { readPages } from "./pages.js";
import { errorOf } from "./refusal.js";
import { askUnary } from "./unary.js";

const WHOM = "the registry";

/** `client`: a registry that answers now. Everything rejects with OPS0004 when it does not. */
export function remoteSchedules(client: () => Client): Schedules {
  const ask = async <T>(method: ScheduleMethod, values: readonly unknown[]): Promise<T> => {
    const request = create(ChangeRequestSchema, { method, arguments: toJson(values) });
    const reply = await askUnary(client(), schedulesDefinition.ask, request, { deadlineMs: CHANGE_DEADLINE_MS, whom: WHOM });
    switch (reply.outcome.case) {
      case "changed":
        return decodedResult(method, fromJson(reply.outcome.value.result) ?? undefined) as T;
      case "refused":
        throw errorOf(reply.outcome.value);
      case undefined:
        throw new PerdureError("OPS0003", "a registry answered nothing");
    }
  };
  return {
    get: (id) => ask("get", [id]),
    async list() {
      const schedules: Schedule[] = [];
      const options = { deadlineMs: ROWS_DEADLINE_MS, whom: WHOM };
      for await (const page of readPages(client(), schedulesDefinition.list, create(ListSchedulesRequestSchema), options)) {
        for (const stored of fromJson(page.schedules) as readonly StoredSchedule[]) schedules.push(scheduleOf(stored));
      }
      return schedules;
    },
    create: (spec, isPaused) => ask("create", [spec, isPaused]),
    replace: (id, spec, expectedVersion) => ask("replace", [id, spec, expectedVersion]),
    remove: (id, expectedVersion) => ask("remove", [id, expectedVersion]),
    pause: (id) => ask("pause", [id]),
    resume: (id) => ask("resume", [id]),
    runNow: (id, key) => ask("runNow", [id, key]),
  };
}
