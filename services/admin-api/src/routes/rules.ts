/** Why: `/limits/rules`: concurrency rules, changed in batches that happen together or not at all (admin-api.md §6). */
import type { Registry, RuleRecord } from "@perdure/metadata";
import { z } from "zod";
import { json } from "../http/answer.js";
import type { Route } from "../http/route.js";
import { RULE_CHANGES_MAX, RULE_CONCURRENCY_MAX } from "../limits.js";

const COMPONENT = /^(\*|[a-zA-Z0-9_.-]+)$/;
const COMPONENTS_MAX = 3;

const Pattern = z.string().superRefine((text, context) => {
  const fail = (message: string) => context.addIssue({ code: "custom", message });
  if (text === "") return fail("pattern cannot be empty");
  const components = text.split("/");
  if (components.length > COMPONENTS_MAX) return fail(`too many path components (max ${COMPONENTS_MAX})`);
  if (!components.every((component) => COMPONENT.test(component))) {
    fail("invalid component: each one is `*` or consists of [a-zA-Z0-9_.-]");
  }
});

const Version = z.number().int().min(0).max(4_294_967_295);

export const PutRules = z
  .array(
    z.object({
      pattern: Pattern,
      limits: z.object({ concurrency: z.number().int().min(1).max(RULE_CONCURRENCY_MAX).nullish() }).nullish(),
      description: z.string().nullish(),
      disabled: z.boolean().nullish(),
      precondition: z
        .discriminatedUnion("type", [
          z.object({ type: z.literal("none") }),
          z.object({ type: z.literal("matches"), version: Version }),
          z.object({ type: z.literal("does_not_exist") }),
        ])
        .nullish(),
    }),
  )
  .max(RULE_CHANGES_MAX);

export const DeleteRules = z.array(z.object({ pattern: Pattern, expected_version: Version.nullish() })).max(RULE_CHANGES_MAX);

export function ruleRoutes(registry: Registry): readonly Route[] {
  return [
    {
      path: "/limits/rules",
      operations: {
        PUT: {
          summary: "Make or change concurrency rules",
          body: PutRules,
          answers: { 200: "The rules as they are now", 409: "A precondition does not hold; nothing was changed" },
          handle: async (request) => {
            const body = await request.json(PutRules);
            const rules = await registry.putRules(
              body.map((rule) => ({
                pattern: rule.pattern,
                concurrency: rule.limits?.concurrency ?? undefined,
                description: rule.description ?? undefined,
                disabled: rule.disabled ?? false,
                precondition: preconditionOf(rule.precondition),
              })),
            );
            return json(200, rules.map(ruleView));
          },
        },
      },
    },
    {
      path: "/limits/rules/bulk-delete",
      operations: {
        POST: {
          summary: "Delete concurrency rules",
          body: DeleteRules,
          answers: { 200: "The patterns that were deleted", 409: "A rule has another version; nothing was deleted" },
          handle: async (request) => {
            const body = await request.json(DeleteRules);
            const deletions = body.map(({ pattern, expected_version }) => ({
              pattern,
              expectedVersion: expected_version ?? undefined,
            }));
            return json(200, await registry.deleteRules(deletions));
          },
        },
      },
    },
  ];
}

function preconditionOf(wire: z.infer<typeof PutRules>[number]["precondition"]) {
  switch (wire?.type) {
    case "matches":
      return { kind: "matches", version: wire.version } as const;
    case "does_not_exist":
      return { kind: "doesNotExist" } as const;
    default:
      return { kind: "none" } as const;
  }
}

function ruleView(rule: RuleRecord) {
  return {
    pattern: rule.pattern,
    limits: { concurrency: rule.concurrency },
    description: rule.description,
    disabled: rule.disabled,
    version: rule.version,
    last_modified_millis_since_epoch: rule.lastModifiedMs,
  };
}
