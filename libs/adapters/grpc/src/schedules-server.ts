/** Serves schedules of the registry: each gRPC method calls the method of the port. */
import { create } from "@bufbuild/protobuf";
import type { ServerUnaryCall, ServerWritableStream, sendUnaryData, UntypedServiceImplementation } from "@grpc/grpc-js";
import type { Logger } from "@perdure/base";
import type { Schedule, Schedules } from "@perdure/schedules";
import { numberOf } from "./codec/checks.js";
import { operationId, restoreOutcome, undoOf } from "./codec/restorations.js";
import { checkedScheduleId, fromSpec, toBackfilled, toSchedule } from "./codec/schedules.js";
import type { ChangeReply, ChangeRequest } from "./gen/v1/registry_pb.js";
import * as proto from "./gen/v1/schedules_pb.js";
import { ROWS_PER_PAGE } from "./limits.js";
import { streamPages } from "./pages.js";
import { answerChange, unaryHandler } from "./unary.js";
import { answerSchedulesV01, pageV01 } from "./v01/schedules.js";

export function schedulesHandlers(schedules: Schedules, logger: Logger): UntypedServiceImplementation {
  const answered = <In, Out>(answerTo: (request: In) => Promise<Out>) => unaryHandler(answerTo, logger);
  const whole = (schedule: Schedule) => ({ schedule: toSchedule(schedule) });
  return {
    getSchedule: answered(async ({ id }: proto.GetScheduleRequest) => {
      const schedule = await schedules.get(checkedScheduleId(id));
      return create(proto.GetScheduleResponseSchema, schedule === undefined ? {} : whole(schedule));
    }),
    listSchedules: (call: ServerWritableStream<proto.ListSchedulesRequest, proto.ListSchedulesResponse>) => {
      const page = (some: readonly Schedule[]) => create(proto.ListSchedulesResponseSchema, { schedules: some.map(toSchedule) });
      streamPages(call, pagesOf(schedules, page), logger);
    },
    createSchedule: answered(async ({ spec, isPaused }: proto.CreateScheduleRequest) =>
      create(proto.CreateScheduleResponseSchema, whole(await schedules.create(fromSpec(spec), isPaused))),
    ),
    replaceSchedule: answered(async ({ id, spec, expectedVersion }: proto.ReplaceScheduleRequest) => {
      const schedule = await schedules.replace(checkedScheduleId(id), fromSpec(spec), numberOf(expectedVersion));
      return create(proto.ReplaceScheduleResponseSchema, whole(schedule));
    }),
    deleteSchedule: answered(async (request: proto.DeleteScheduleRequest) => {
      await schedules.remove(checkedScheduleId(request.id), numberOf(request.expectedVersion), undoOf(request));
      return create(proto.DeleteScheduleResponseSchema);
    }),
    restoreSchedule: answered(async (request: proto.RestoreScheduleRequest) => {
      const outcome = await schedules.restore(operationId.from(request.operationId));
      return create(proto.RestoreScheduleResponseSchema, { result: restoreOutcome.to(outcome) });
    }),
    pauseSchedule: answered(async ({ id }: proto.PauseScheduleRequest) =>
      create(proto.PauseScheduleResponseSchema, whole(await schedules.pause(checkedScheduleId(id)))),
    ),
    resumeSchedule: answered(async ({ id }: proto.ResumeScheduleRequest) =>
      create(proto.ResumeScheduleResponseSchema, whole(await schedules.resume(checkedScheduleId(id)))),
    ),
    runSchedule: answered(async ({ id, key }: proto.RunScheduleRequest) =>
      create(proto.RunScheduleResponseSchema, { ...(await schedules.runNow(checkedScheduleId(id), key)) }),
    ),
    backfillSchedule: answered(async ({ id, timesMs, expectedVersion, isDryRun }: proto.BackfillScheduleRequest) => {
      const batch = { timesMs: timesMs.map(Number), expectedVersion: Number(expectedVersion), isDryRun };
      const times = await schedules.backfill(checkedScheduleId(id), batch);
      return create(proto.BackfillScheduleResponseSchema, { times: times.map(toBackfilled) });
    }),

    ask: (call: ServerUnaryCall<ChangeRequest, ChangeReply>, answer: sendUnaryData<ChangeReply>) => {
      answerChange(answerSchedulesV01(schedules, call.request), () => 0, logger, answer);
    },
    list: (call: ServerWritableStream<proto.ListSchedulesRequest, proto.SchedulesPage>) => {
      streamPages(call, pagesOf(schedules, pageV01), logger);
    },
  };
}

async function* pagesOf<Page>(schedules: Schedules, pageOf: (some: readonly Schedule[]) => Page): AsyncIterable<Page> {
  const all = await schedules.list();
  for (let from = 0; from < all.length; from += ROWS_PER_PAGE) yield pageOf(all.slice(from, from + ROWS_PER_PAGE));
}
