/** Answers of the management API about topics, schedules and rules, as far as clients read them. */
import { z } from "zod";

const texts = z.record(z.string(), z.string());

export const kafkaClusterShape = z.looseObject({ name: z.string(), properties: texts, created_at: z.string() });
export type KafkaClusterView = z.infer<typeof kafkaClusterShape>;
export const kafkaClusterListShape = z.looseObject({ clusters: z.array(kafkaClusterShape) });

export const subscriptionShape = z.looseObject({ id: z.string(), source: z.string(), sink: z.string(), options: texts });
export type SubscriptionView = z.infer<typeof subscriptionShape>;
export const subscriptionListShape = z.looseObject({ subscriptions: z.array(subscriptionShape) });

export const subscriptionStatusShape = z.looseObject({
  id: z.string(),
  state: z.string(),
  paused: z.boolean(),
  assigned_partitions: z.array(z.int()),
  positions: z.array(z.looseObject({ partition: z.int(), next_offset: z.int(), lag: z.int() })),
  stuck_at: z.looseObject({ partition: z.int(), offset: z.int(), reason: z.string() }).nullable(),
  last_failure: z.string().nullable(),
  next_retry_at: z.string().nullable(),
  handled_records: z.int(),
});
export type SubscriptionStatus = z.infer<typeof subscriptionStatusShape>;

const moment = z.string().nullable();
export const scheduleShape = z.looseObject({
  id: z.string(),
  name: z.string(),
  description: z.string().nullish(),
  version: z.int(),
  cron: z.string(),
  zone: z.string(),
  target: z.looseObject({ service: z.string(), handler: z.string(), key: z.string().nullish() }),
  overlap: z.string(),
  catch_up: z.string(),
  paused: z.boolean(),
  status: z.string(),
  next_at: moment,
  last_fired_at: moment,
  last_invocation_id: z.string().nullable(),
  fired_count: z.int(),
  skipped_count: z.int(),
  failed_count: z.int(),
  missed_count: z.int(),
  recent: z.array(
    z.looseObject({
      outcome: z.string(),
      cause: z.string().nullish(),
      scheduled_at: z.string(),
      invocation_id: z.string().nullish(),
      detail: z.string().nullish(),
    }),
  ),
});
export type ScheduleView = z.infer<typeof scheduleShape>;
export const scheduleListShape = z.looseObject({ schedules: z.array(scheduleShape) });
export const firedShape = z.looseObject({ invocation_id: z.string(), status: z.string() });
export const nextTimesShape = z.looseObject({ next: z.array(z.looseObject({ at: z.string(), local: z.string() })) });

export const ruleShape = z.looseObject({
  pattern: z.string(),
  limits: z.looseObject({
    concurrency: z.int().nullish(),
    rate: z.looseObject({ limit: z.int(), per: z.string(), burst: z.int() }).nullish(),
  }),
  description: z.string().nullish(),
  disabled: z.boolean(),
  weight: z.int().nullish(),
  priority: z.int().nullish(),
  version: z.int(),
});
export type RuleView = z.infer<typeof ruleShape>;
export const ruleListShape = z.array(ruleShape);

/** A change as in `PUT /limits/rules`; an absent rate, weight or priority stays, null removes it. */
export interface RuleChange {
  readonly pattern: string;
  readonly limits?: {
    readonly concurrency?: number | null;
    readonly rate?: { readonly limit: number; readonly per: string; readonly burst?: number } | null;
  };
  readonly description?: string;
  readonly disabled?: boolean;
  readonly weight?: number | null;
  readonly priority?: number | null;
  readonly precondition?: { readonly type: "does_not_exist" } | { readonly type: "matches"; readonly version: number };
}
