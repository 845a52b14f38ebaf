/**
 * `/limits/rules`: rules of flow control, changed in batches that are applied completely or not at all (admin-api.md §6). Rates, weights
 * and priorities are our extension: tools without them omit these fields, and omitted fields do not change.
 */

import { deleteRules, putRules, type RuleShape } from "@perdure/admin-contract";
import { DeleteRules, PutRules } from "@perdure/admin-contract/requests";
import { formatDuration } from "@perdure/base";
import { RULE_WEIGHT_DEFAULT, type RuleChange, type RuleRate, type RuleRecord } from "@perdure/metadata";
import type { z } from "zod";
import { json } from "../http/answer.js";
import { type ApiRoute, route } from "../http/route.js";
import { asDeletion } from "../operations/apply-undoable.js";
import type { AdminPorts } from "../ports.js";
import type { ViewOf } from "../views/response.js";

export function ruleRoutes(ports: AdminPorts): readonly ApiRoute[] {
  const { registry } = ports;
  return [
    route(putRules, {
      summary: "Make or change rules of flow control",
      body: PutRules,
      answers: { 200: "The rules as they are now", 409: "A precondition does not hold; nothing was changed" },
      handle: async (request) => {
        const body = await request.json(PutRules);
        const rules = await registry.putRules(body.map(changeOf));
        return json(200, rules.map(ruleView));
      },
    }),
    route(deleteRules, {
      summary: "Delete rules of flow control",
      body: DeleteRules,
      answers: { 200: "The patterns that were deleted", 409: "A rule has another version; nothing was deleted" },
      handle: async (request) => {
        const body = await request.json(DeleteRules);
        const deletions = body.map(({ pattern, expected_version }) => ({
          pattern,
          expectedVersion: expected_version ?? undefined,
        }));
        const patterns = new Set(deletions.map(({ pattern }) => pattern));
        const rules = registry.rules().filter(({ pattern }) => patterns.has(pattern));
        const subject = `${rules.length === 1 ? "rule" : "rules"} ${rules.map(({ pattern }) => pattern).join(", ")}`;
        const record = rules.length === 0 ? undefined : rules;
        const deletion = { verb: "delete-rules", subject, matched: rules.length, record } as const;
        const { result, headers } = await asDeletion(ports, request, deletion, (undo) => registry.deleteRules(deletions, undo));
        return json(200, result, headers);
      },
    }),
  ];
}

type PutRule = z.infer<typeof PutRules>[number];

function changeOf(rule: PutRule): RuleChange {
  return {
    pattern: rule.pattern,
    concurrency: rule.limits?.concurrency ?? undefined,
    rate: rateOf(rule.limits?.rate),
    weight: rule.weight,
    priority: rule.priority,
    description: rule.description ?? undefined,
    disabled: rule.disabled ?? false,
    precondition: preconditionOf(rule.precondition),
  };
}

/** Absent stays absent and null stays null: they mean different things. */
function rateOf(wire: NonNullable<PutRule["limits"]>["rate"]): RuleRate | null | undefined {
  if (wire === undefined || wire === null) return wire;
  return { limit: wire.limit, periodMs: wire.per, burst: wire.burst ?? wire.limit };
}

function preconditionOf(wire: PutRule["precondition"]): RuleChange["precondition"] {
  switch (wire?.type) {
    case "matches":
      return { kind: "matches", version: wire.version };
    case "does_not_exist":
      return { kind: "doesNotExist" };
    default:
      return { kind: "none" };
  }
}

/** Undefined fields are omitted: a rule without our extensions has the form that other tools expect. */
function ruleView(rule: RuleRecord): ViewOf<typeof RuleShape> {
  const { rate } = rule;
  return {
    pattern: rule.pattern,
    limits: {
      concurrency: rule.concurrency,
      rate: rate === undefined ? undefined : { limit: rate.limit, per: formatDuration(rate.periodMs), burst: rate.burst },
    },
    description: rule.description,
    disabled: rule.disabled,
    weight: rule.weight === RULE_WEIGHT_DEFAULT ? undefined : rule.weight,
    priority: rule.priority,
    version: rule.version,
    last_modified_millis_since_epoch: rule.lastModifiedMs,
  };
}
