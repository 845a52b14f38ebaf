/** Rows of `sys_condition` that need an action. Pure. */
import type { SqlRow } from "@perdure/admin-client";
import { textOf } from "../rows.js";

const TEXTS = { "subscription.stuck": "subscription stuck", "limit.saturated": "limit saturated" } as const;
type ShownType = keyof typeof TEXTS;

export interface ShownCondition {
  readonly type: ShownType;
  readonly subject: string;
  /** `Checkout/pay`; undefined for a limit. */
  readonly target: string | undefined;
  readonly since: string | undefined;
}

export function conditionsOf(rows: readonly SqlRow[]): readonly ShownCondition[] {
  return rows.flatMap((row): readonly ShownCondition[] => {
    const [type, subject] = [textOf(row, "type"), textOf(row, "subject")];
    if ((type !== "subscription.stuck" && type !== "limit.saturated") || subject === undefined) return [];
    const target = [textOf(row, "services"), textOf(row, "handler")].filter(Boolean).join("/");
    return [{ type, subject, target: target === "" ? undefined : target, since: textOf(row, "since") }];
  });
}

export const conditionText = ({ type }: ShownCondition): string => TEXTS[type];

/** The page that explains the condition. */
export function conditionHref({ type, subject }: ShownCondition): string {
  return type === "limit.saturated" ? "/flow" : `/subscriptions?${new URLSearchParams({ show: subject })}`;
}
