/**
 * The list of environments shows more than their status where it matters: why an environment does not run, and until when a deleted one can
 * be restored.
 */
import type { Tone } from "../../kit/index.js";
import type { CloudApi, CloudResponse, EnvironmentDescription } from "../cloud-api.js";

type Summary = CloudResponse<"ListEnvironments">["environments"][number];

export interface ListedEnvironment extends Summary {
  /** Details of environments that do not run normally. */
  readonly facts: EnvironmentDescription | undefined;
}

/** Poll interval while an environment starts. */
export const PROGRESS_MS = 1_500;

/** An account has few environments, and most of them run: details of the others are requested one by one. */
export async function listEnvironments(
  api: CloudApi,
  accountId: string,
  signal: AbortSignal,
): Promise<readonly ListedEnvironment[]> {
  const { environments } = await api.account(accountId, "ListEnvironments", {}, signal);
  return await Promise.all(
    environments.map(async (one) => {
      if (one.status === "ACTIVE") return { ...one, facts: undefined };
      const { environmentId } = one;
      return { ...one, facts: await api.account(accountId, "DescribeEnvironment", { environmentId }, signal) };
    }),
  );
}

export function waitsForSomething({ status }: Pick<Summary, "status">): boolean {
  return status === "PENDING";
}

interface StatusLabel {
  readonly label: string;
  readonly tone: Tone;
}

export function statusLabel(status: Summary["status"]): StatusLabel {
  switch (status) {
    case "PENDING":
      return { label: "starting", tone: "info" };
    case "ACTIVE":
      return { label: "active", tone: "good" };
    case "FAILED":
      return { label: "failed", tone: "bad" };
    case "SUSPENDED":
      return { label: "suspended", tone: "warn" };
    case "DELETING":
      return { label: "being deleted", tone: "warn" };
    default:
      return { label: "deleted", tone: "idle" };
  }
}

const SUSPENDED_FOR: Readonly<Record<string, string>> = {
  user: "A member suspended it.",
  quota: "The monthly quota of actions is used up: it resumes next month, or with a larger plan.",
  idle: "It was idle for long. Resume it, and it continues where it stopped.",
  billing: "There is a problem with the bill.",
  abuse: "The operator suspended it: write to support.",
};

/** Why the environment does not run; undefined when it does. */
export function reasonOf(
  facts: Pick<EnvironmentDescription, "status" | "suspendedFor" | "failure" | "isThrottled">,
): string | undefined {
  switch (facts.status) {
    case "SUSPENDED":
      return SUSPENDED_FOR[facts.suspendedFor ?? ""] ?? `It is suspended: ${facts.suspendedFor ?? "the reason is unknown"}.`;
    case "FAILED":
      return facts.failure ?? "It could not be created.";
    case "PENDING":
      return "Its runtime is starting; that takes some seconds.";
    case "ACTIVE":
      if (facts.failure !== undefined) return facts.failure;
      return facts.isThrottled === true ? "The monthly traffic quota is used up: traffic is throttled." : undefined;
    default:
      return undefined;
  }
}

/** Whether users themselves can resume it, and what that requires. */
export function cannotResume({
  status,
  suspendedFor,
}: Pick<EnvironmentDescription, "status" | "suspendedFor">): string | undefined {
  if (status === "FAILED") return undefined;
  if (status !== "SUSPENDED") return "The environment is not suspended";
  if (suspendedFor === "user" || suspendedFor === "idle") return undefined;
  return suspendedFor === "quota" ? "It resumes next month, or with a larger plan" : "Only the operator can resume it";
}
