/** A badge shows a state by a word and a colour, never by the colour alone. */
import type { ReactNode } from "react";
import "./badge.css";

export type Tone = "good" | "bad" | "warn" | "info" | "idle";

export function Badge({ tone = "idle", children }: { readonly tone?: Tone; readonly children: ReactNode }) {
  return <span className={`badge badge--${tone}`}>{children}</span>;
}

const TONES: Readonly<Record<string, Tone>> = {
  running: "info",
  ready: "info",
  pending: "idle",
  scheduled: "idle",
  suspended: "idle",
  "backing-off": "warn",
  paused: "warn",
  succeeded: "good",
  failed: "bad",
  cancelled: "warn",
  killed: "bad",
};

/** `status` of `sys_invocation`, and how it ended for completed ones. */
export function InvocationBadge({
  status,
  result,
  failure,
}: {
  readonly status: string;
  readonly result?: string | undefined;
  readonly failure?: string | undefined;
}) {
  const label = status === "completed" ? endOf(result, failure) : status;
  return <Badge tone={TONES[label] ?? "idle"}>{label}</Badge>;
}

function endOf(result: string | undefined, failure: string | undefined): string {
  if (result !== "failure") return result === "success" ? "succeeded" : "completed";
  if (failure !== undefined && /^\[?409\]?\b.*cancel/i.test(failure)) return "cancelled";
  if (failure !== undefined && /\bkilled\b/i.test(failure)) return "killed";
  return "failed";
}
