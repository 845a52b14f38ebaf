/** Why: a list of environments says more than their status where that matters: why one does not run, and until when one can be brought back. */
import type { Tone } from "../../kit/index.js";
import type { Answer, CloudApi, EnvironmentFacts } from "../cloud-api.js";

type Summary = Answer<"ListEnvironments">["environments"][number];

export interface ListedEnvironment extends Summary {
  /** Of those that do not simply run. */
  readonly facts: EnvironmentFacts | undefined;
}

/** How often is looked while something comes up. */
export const PROGRESS_MS = 1_500;

/** An account has few environments, and most of them run: the others are asked about one by one. */
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

interface StatusWords {
  readonly word: string;
  readonly tone: Tone;
}

export function statusWords(status: Summary["status"]): StatusWords {
  switch (status) {
    case "PENDING":
      return { word: "coming up", tone: "info" };
    case "ACTIVE":
      return { word: "active", tone: "good" };
    case "FAILED":
      return { word: "failed", tone: "bad" };
    case "SUSPENDED":
      return { word: "suspended", tone: "warn" };
    case "DELETING":
      return { word: "being deleted", tone: "warn" };
    default:
      return { word: "deleted", tone: "idle" };
  }
}

const SUSPENDED_FOR: Readonly<Record<string, string>> = {
  user: "Somebody suspended it.",
  quota: "The month's actions are used up: it comes back with the next month, or with a larger plan.",
  idle: "Nobody used it for long. Resume it and it goes on where it was.",
  billing: "There is a problem with the bill.",
  abuse: "The operator suspended it: write to support.",
};

/** Why it does not simply run; undefined when it does. */
export function reasonOf(
  facts: Pick<EnvironmentFacts, "status" | "suspendedFor" | "failure" | "isThrottled">,
): string | undefined {
  switch (facts.status) {
    case "SUSPENDED":
      return SUSPENDED_FOR[facts.suspendedFor ?? ""] ?? `It is suspended: ${facts.suspendedFor ?? "nobody said why"}.`;
    case "FAILED":
      return facts.failure ?? "It could not be made.";
    case "PENDING":
      return "Its runtime is starting; that takes some seconds.";
    case "ACTIVE":
      if (facts.failure !== undefined) return facts.failure;
      return facts.isThrottled === true ? "The month's traffic is used up: its bytes go slowly." : undefined;
    default:
      return undefined;
  }
}

/** Whether people themselves can resume it; with what else it takes. */
export function cannotResume({ status, suspendedFor }: Pick<EnvironmentFacts, "status" | "suspendedFor">): string | undefined {
  if (status === "FAILED") return undefined;
  if (status !== "SUSPENDED") return "It is not suspended";
  if (suspendedFor === "user" || suspendedFor === "idle") return undefined;
  return suspendedFor === "quota" ? "A larger plan, or the next month, brings it back" : "Only the operator can resume it";
}
