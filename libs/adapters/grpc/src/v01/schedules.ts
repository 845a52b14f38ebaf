/** Requests about schedules in the form of v0.1: the name of a method, and its arguments and result as JSON. To be removed in v0.3. */

import { create } from "@bufbuild/protobuf";
import { PerdureError } from "@perdure/base";
import type { Schedule, ScheduleSpec, Schedules } from "@perdure/schedules";
import type { Channel } from "../channel.js";
import type { FieldCodec } from "../codec/form.js";
import { fromJson, toJson } from "../codec/json.js";
import { checkedInvocationId, checkedScheduleId, fromSchedule, fromSpec, toSchedule, toSpec } from "../codec/schedules.js";
import { schedulesDefinition } from "../definitions.js";
import { type ChangeRequest, ChangeRequestSchema } from "../gen/v1/registry_pb.js";
import {
  ListSchedulesRequestSchema,
  type Schedule as ScheduleMessage,
  ScheduleSchema,
  ScheduleSpecSchema,
  type SchedulesPage,
  SchedulesPageSchema,
} from "../gen/v1/schedules_pb.js";
import { type PagesOptions, readPages } from "../pages.js";
import { errorOf } from "../refusal.js";
import { callUnary, type UnaryCallOptions } from "../unary.js";
import { argumentsV01, checkedV01, fieldsV01, flagV01, listV01, numberV01, optionalV01, textV01 } from "./checked.js";

export type ScheduleMethod = Exclude<keyof Schedules, "list" | "restore" | "backfill">;
/** Result of each method. */
export type ScheduleResult<Method extends ScheduleMethod> = Awaited<ReturnType<Schedules[Method]>>;

/** Times that follow from a schedule do not travel. */
const storedOf = ({ record, state }: Schedule): Omit<Schedule, "times"> => ({ record, state });

const schedule: FieldCodec<Schedule, ScheduleMessage> = { to: toSchedule, from: fromSchedule };
const scheduleOf = (value: unknown): Schedule => checkedV01(ScheduleSchema, schedule, value, "a schedule");

const RESULTS: { readonly [Method in ScheduleMethod]: (value: unknown) => ScheduleResult<Method> } = {
  get: (value) => optionalV01(value, "a schedule", scheduleOf),
  create: scheduleOf,
  replace: scheduleOf,
  remove: () => undefined,
  pause: scheduleOf,
  resume: scheduleOf,
  runNow(value) {
    const { invocationId, isNew } = fieldsV01(value, "a firing");
    return { invocationId: checkedInvocationId(textV01(invocationId, "an invocation id")), isNew: flagV01(isNew, "a firing") };
  },
};

export async function callSchedulesV01<Method extends ScheduleMethod>(
  client: Channel,
  method: Method,
  values: readonly unknown[],
  options: UnaryCallOptions,
): Promise<ScheduleResult<Method>> {
  const request = create(ChangeRequestSchema, { method, arguments: toJson(values) });
  const { outcome } = await callUnary(client, schedulesDefinition.ask, request, options);
  switch (outcome.case) {
    case "changed":
      return RESULTS[method](fromJson(outcome.value.result));
    case "refused":
      throw errorOf(outcome.value);
    case undefined:
      throw new PerdureError("OPS0003", "a registry returned an empty answer");
  }
}

export async function listSchedulesV01(client: Channel, options: PagesOptions): Promise<readonly Schedule[]> {
  const schedules: Schedule[] = [];
  for await (const page of readPages(client, schedulesDefinition.list, create(ListSchedulesRequestSchema), options)) {
    schedules.push(...listV01(fromJson(page.schedules), "a list of schedules").map(scheduleOf));
  }
  return schedules;
}

const scheduleId = (value: unknown) => checkedScheduleId(textV01(value, "the id of a schedule"));
const versionOf = (value: unknown) => optionalV01(value, "the version of a schedule", numberV01);
const spec: FieldCodec<ScheduleSpec, ReturnType<typeof toSpec>> = { to: toSpec, from: fromSpec };
const specOf = (value: unknown): ScheduleSpec => checkedV01(ScheduleSpecSchema, spec, value, "the specification of a schedule");

/** Each method with its arguments as they came. */
const METHODS: { readonly [Method in ScheduleMethod]: (schedules: Schedules, values: readonly unknown[]) => Promise<unknown> } = {
  get: async (schedules, [id]) => schedules.get(scheduleId(id)),
  create: async (schedules, [value, isPaused]) => schedules.create(specOf(value), flagV01(isPaused, "the state of a schedule")),
  replace: async (schedules, [id, value, version]) => schedules.replace(scheduleId(id), specOf(value), versionOf(version)),
  remove: async (schedules, [id, version]) => schedules.remove(scheduleId(id), versionOf(version)),
  pause: async (schedules, [id]) => schedules.pause(scheduleId(id)),
  resume: async (schedules, [id]) => schedules.resume(scheduleId(id)),
  runNow: async (schedules, [id, key]) => schedules.runNow(scheduleId(id), textV01(key, "the key of a firing")),
};

export async function answerSchedulesV01(schedules: Schedules, { method, arguments: body }: ChangeRequest): Promise<unknown> {
  const isMethod = (name: string): name is ScheduleMethod => Object.hasOwn(METHODS, name);
  if (!isMethod(method)) throw new PerdureError("OPS0003", `schedules have no method '${method}'`);
  const result = await METHODS[method](schedules, argumentsV01(body));
  return isSchedule(result) ? storedOf(result) : result;
}

function isSchedule(result: unknown): result is Schedule {
  return typeof result === "object" && result !== null && "times" in result;
}

export function pageV01(page: readonly Schedule[]): SchedulesPage {
  return create(SchedulesPageSchema, { schedules: toJson(page.map(storedOf)) });
}
