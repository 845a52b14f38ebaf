/** Requests about schedules in the form of v0.1: the name of a method, and its arguments and result as JSON. To be removed in v0.3. */
import { create } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import { PerdureError } from "@perdure/base";
import { type Schedule, type Schedules, timetableOfSpec } from "@perdure/schedules";
import { fromJson, toJson } from "../codec/json.js";
import { schedulesDefinition } from "../definitions.js";
import { type ChangeRequest, ChangeRequestSchema } from "../gen/v1/registry_pb.js";
import { ListSchedulesRequestSchema, type SchedulesPage, SchedulesPageSchema } from "../gen/v1/schedules_pb.js";
import { type PagesOptions, readPages } from "../pages.js";
import { errorOf } from "../refusal.js";
import { callUnary, type UnaryCallOptions } from "../unary.js";

const METHODS = [
  "get",
  "create",
  "replace",
  "remove",
  "pause",
  "resume",
  "runNow",
] as const satisfies readonly (keyof Schedules)[];
export type ScheduleMethod = (typeof METHODS)[number];

/** Methods that answer with a schedule. */
const ANSWERS_SCHEDULE: ReadonlySet<ScheduleMethod> = new Set(["get", "create", "replace", "pause", "resume"]);

type StoredSchedule = Omit<Schedule, "times">;

const storedOf = ({ record, state }: Schedule): StoredSchedule => ({ record, state });

function scheduleOf({ record, state }: StoredSchedule): Schedule {
  const times = timetableOfSpec(record);
  if (!times.ok) throw new PerdureError("OPS0003", `a registry sent the schedule '${record.id}' with an invalid ${times.field}`);
  return { record, state, times: times.value };
}

export async function callSchedulesV01(
  client: Client,
  method: ScheduleMethod,
  values: readonly unknown[],
  options: UnaryCallOptions,
): Promise<unknown> {
  const request = create(ChangeRequestSchema, { method, arguments: toJson(values) });
  const { outcome } = await callUnary(client, schedulesDefinition.ask, request, options);
  switch (outcome.case) {
    case "changed": {
      const result = fromJson(outcome.value.result) ?? undefined;
      return ANSWERS_SCHEDULE.has(method) && result !== undefined ? scheduleOf(result as StoredSchedule) : result;
    }
    case "refused":
      throw errorOf(outcome.value);
    case undefined:
      throw new PerdureError("OPS0003", "a registry returned an empty answer");
  }
}

export async function listSchedulesV01(client: Client, options: PagesOptions): Promise<readonly Schedule[]> {
  const schedules: Schedule[] = [];
  for await (const page of readPages(client, schedulesDefinition.list, create(ListSchedulesRequestSchema), options)) {
    for (const stored of fromJson(page.schedules) as readonly StoredSchedule[]) schedules.push(scheduleOf(stored));
  }
  return schedules;
}

export async function answerSchedulesV01(schedules: Schedules, { method, arguments: body }: ChangeRequest): Promise<unknown> {
  if (!METHODS.includes(method as ScheduleMethod)) throw new PerdureError("OPS0003", `schedules have no method '${method}'`);
  const operation = schedules[method as ScheduleMethod] as (...values: unknown[]) => unknown;
  const values = (fromJson(body) as unknown[]).map((value) => value ?? undefined);
  const result = await operation.call(schedules, ...values);
  return ANSWERS_SCHEDULE.has(method as ScheduleMethod) && result !== undefined ? storedOf(result as Schedule) : result;
}

export function pageV01(page: readonly Schedule[]): SchedulesPage {
  return create(SchedulesPageSchema, { schedules: toJson(page.map(storedOf)) });
}
