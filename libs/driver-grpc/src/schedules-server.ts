/** The registry's side of schedules: asks of management APIs are carried out on the port, one method each. */
import { create } from "@bufbuild/protobuf";
import type { ServerUnaryCall, ServerWritableStream, sendUnaryData, UntypedServiceImplementation } from "@grpc/grpc-js";
import { type Logger, PerdureError } from "@perdure/base";
import type { Schedules } from "@perdure/schedule";
import { fromJson, toJson } from "./codec/json.js";
import { encodedResult, SCHEDULE_METHODS, type ScheduleMethod, storedOf } from "./codec/schedules.js";
import type { ChangeReply, ChangeRequest } from "./gen/v1/registry_pb.js";
import { type ListSchedulesRequest, type SchedulesPage, SchedulesPageSchema } from "./gen/v1/schedules_pb.js";
import { ROWS_PER_PAGE } from "./limits.js";
import { streamPages } from "./pages.js";
import { answerChange } from "./unary.js";

export function schedulesHandlers(schedules: Schedules, logger: Logger): UntypedServiceImplementation {
  return {
    ask(call: ServerUnaryCall<ChangeRequest, ChangeReply>, answer: sendUnaryData<ChangeReply>) {
      answerChange(askOf(schedules, call.request), () => 0, logger, answer);
    },
    list(call: ServerWritableStream<ListSchedulesRequest, SchedulesPage>) {
      streamPages(call, pagesOf(schedules), logger);
    },
  };
}

async function askOf(schedules: Schedules, { method, arguments: body }: ChangeRequest): Promise<unknown> {
  if (!SCHEDULE_METHODS.includes(method as ScheduleMethod))
    throw new PerdureError("OPS0003", `schedules have no method '${method}'`);
  const ask = schedules[method as ScheduleMethod] as (...values: unknown[]) => unknown;
  const values = (fromJson(body) as unknown[]).map((value) => value ?? undefined);
  return encodedResult(method as ScheduleMethod, await ask.call(schedules, ...values));
}

async function* pagesOf(schedules: Schedules): AsyncIterable<SchedulesPage> {
  const all = await schedules.list();
  for (let from = 0; from < all.length; from += ROWS_PER_PAGE) {
    const page = all.slice(from, from + ROWS_PER_PAGE).map(storedOf);
    yield create(SchedulesPageSchema, { schedules: toJson(page) });
  }
}
