/** Rules of flow control as messages of `proto/control/v1/registry.proto`, and back. */

import { create } from "@bufbuild/protobuf";
import type { RuleChange, RuleRate, RuleRecord } from "@perdure/metadata";
import * as proto from "../gen/v1/registry_pb.js";
import { given } from "./checks.js";
import { type FieldCodec, flag, message, number, optional, text, whole } from "./form.js";

export const ruleRate = message<RuleRate, typeof proto.RuleRateSchema>(proto.RuleRateSchema, {
  limit: number,
  periodMs: number,
  burst: number,
});

export const rule = message<RuleRecord, typeof proto.RuleSchema>(proto.RuleSchema, {
  pattern: text,
  concurrency: optional(whole),
  rate: optional(ruleRate),
  weight: number,
  priority: optional(number),
  description: optional(text),
  disabled: flag,
  version: whole,
  lastModifiedMs: whole,
});

export const ruleChange: FieldCodec<RuleChange, proto.RuleChange> = {
  to({ pattern, concurrency, rate, weight, priority, description, disabled, precondition }) {
    const changes = create(proto.RuleChangeSchema, {
      pattern,
      disabled,
      ...given("concurrency", optional(whole).to(concurrency)),
      ...given("rate", rate === undefined ? undefined : given("value", rate === null ? undefined : ruleRate.to(rate))),
      ...given("weight", weight === undefined ? undefined : given("value", weight ?? undefined)),
      ...given("priority", priority === undefined ? undefined : given("value", priority ?? undefined)),
      ...given("description", description),
    });
    if (precondition.kind === "matches") {
      changes.precondition = { case: "matches", value: BigInt(precondition.version) };
    } else if (precondition.kind === "doesNotExist") {
      changes.precondition = { case: "doesNotExist", value: create(proto.RuleChange_DoesNotExistSchema) };
    }
    return changes;
  },
  from({ pattern, concurrency, rate, weight, priority, description, disabled, precondition }) {
    return {
      pattern,
      concurrency: optional(whole).from(concurrency),
      rate: rate && (rate.value === undefined ? null : ruleRate.from(rate.value)),
      weight: weight && (weight.value ?? null),
      priority: priority && (priority.value ?? null),
      description,
      disabled,
      precondition:
        precondition.case === "matches"
          ? { kind: "matches", version: Number(precondition.value) }
          : { kind: precondition.case === undefined ? "none" : "doesNotExist" },
    };
  },
};
