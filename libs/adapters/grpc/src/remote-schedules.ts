/** Schedules kept by a registry in another process. */

import { create } from "@bufbuild/protobuf";
import type { MethodDefinition } from "@grpc/grpc-js";
import type { Schedule, Schedules } from "@perdure/schedules";
import type { Channel } from "./channel.js";
import { bigOf, given } from "./codec/checks.js";
import { keptUnder, restoreOutcome } from "./codec/restorations.js";
import { checkedInvocationId, fromBackfilled, fromSchedule, toSpec } from "./codec/schedules.js";
import { schedulesDefinition } from "./definitions.js";
import * as proto from "./gen/v1/schedules_pb.js";
import { CHANGE_DEADLINE_MS, ROWS_DEADLINE_MS } from "./limits.js";
import { readPages } from "./pages.js";
import { isUnimplemented } from "./status.js";
import { callUnary } from "./unary.js";
import { callSchedulesV01, listSchedulesV01, type ScheduleMethod, type ScheduleResult } from "./v01/schedules.js";

const CALLEE = "the registry";

/**
 * `client` returns the registry that answers now. Every method rejects with OPS0004 when that registry does not answer. A registry of v0.1
 * gets the request in the form of v0.1.
 */
export function remoteSchedules(client: () => Channel): Schedules {
  const call = async <In, Out, Method extends ScheduleMethod>(
    method: MethodDefinition<In, Out>,
    request: In,
    [methodV01, ...valuesV01]: readonly [Method, ...unknown[]],
    resultOf: (response: Out) => ScheduleResult<Method>,
  ): Promise<ScheduleResult<Method>> => {
    const options = { deadlineMs: CHANGE_DEADLINE_MS, callee: CALLEE };
    try {
      return resultOf(await callUnary(client(), method, request, options));
    } catch (cause) {
      if (!(cause instanceof Error && isUnimplemented(cause.cause))) throw cause;
      return callSchedulesV01(client(), methodV01, valuesV01, options);
    }
  };
  const whole = ({ schedule }: { readonly schedule?: proto.Schedule | undefined }): Schedule => fromSchedule(schedule);
  const {
    getSchedule,
    createSchedule,
    replaceSchedule,
    deleteSchedule,
    pauseSchedule,
    restoreSchedule,
    resumeSchedule,
    runSchedule,
    backfillSchedule,
  } = schedulesDefinition;
  return {
    get: (id) =>
      call(getSchedule, create(proto.GetScheduleRequestSchema, { id }), ["get", id], ({ schedule }) =>
        schedule === undefined ? undefined : fromSchedule(schedule),
      ),
    list: () => list(client()),
    create: (spec, isPaused) => {
      const request = create(proto.CreateScheduleRequestSchema, { spec: toSpec(spec), isPaused });
      return call(createSchedule, request, ["create", spec, isPaused], whole);
    },
    replace: (id, spec, expectedVersion) => {
      const expected = given("expectedVersion", bigOf(expectedVersion));
      const request = create(proto.ReplaceScheduleRequestSchema, { id, spec: toSpec(spec), ...expected });
      return call(replaceSchedule, request, ["replace", id, spec, expectedVersion], whole);
    },
    restore: async (operation) => {
      const options = { deadlineMs: CHANGE_DEADLINE_MS, callee: CALLEE };
      const request = create(proto.RestoreScheduleRequestSchema, { operationId: operation });
      const { result } = await callUnary(client(), restoreSchedule, request, options);
      return restoreOutcome.from(result);
    },
    remove: (id, expectedVersion, undo) => {
      const expected = given("expectedVersion", bigOf(expectedVersion));
      const request = create(proto.DeleteScheduleRequestSchema, { id, ...expected, ...keptUnder(undo) });
      return call(deleteSchedule, request, ["remove", id, expectedVersion], () => undefined);
    },
    backfill: async (id, { timesMs, expectedVersion, isDryRun }) => {
      const options = { deadlineMs: CHANGE_DEADLINE_MS, callee: CALLEE };
      const batch = { timesMs: timesMs.map(BigInt), expectedVersion: BigInt(expectedVersion), isDryRun };
      const request = create(proto.BackfillScheduleRequestSchema, { id, ...batch });
      return (await callUnary(client(), backfillSchedule, request, options)).times.map(fromBackfilled);
    },
    pause: (id) => call(pauseSchedule, create(proto.PauseScheduleRequestSchema, { id }), ["pause", id], whole),
    resume: (id) => call(resumeSchedule, create(proto.ResumeScheduleRequestSchema, { id }), ["resume", id], whole),
    runNow: (id, key) =>
      call(runSchedule, create(proto.RunScheduleRequestSchema, { id, key }), ["runNow", id, key], ({ invocationId, isNew }) => ({
        invocationId: checkedInvocationId(invocationId),
        isNew,
      })),
  };
}

async function list(client: Channel): Promise<readonly Schedule[]> {
  const schedules: Schedule[] = [];
  const options = { deadlineMs: ROWS_DEADLINE_MS, callee: CALLEE };
  const request = create(proto.ListSchedulesRequestSchema);
  try {
    for await (const page of readPages(client, schedulesDefinition.listSchedules, request, options)) {
      for (const schedule of page.schedules) schedules.push(fromSchedule(schedule));
    }
    return schedules;
  } catch (cause) {
    if (!(cause instanceof Error && isUnimplemented(cause.cause))) throw cause;
    return listSchedulesV01(client, options);
  }
}
