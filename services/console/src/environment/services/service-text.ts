/** Texts for services and handlers. Pure. */
import type { HandlerMetadata, RetryPolicyView, ServiceMetadata } from "@perdure/admin-client";

const TYPES: Readonly<Record<string, string>> = { Service: "service", VirtualObject: "virtual object", Workflow: "workflow" };

export const typeLabel = ({ ty }: Pick<ServiceMetadata, "ty">): string => TYPES[ty] ?? ty;

/** `exclusive`, `shared`, `run of the workflow`; undefined for handlers of plain services. */
export function handlerLabel({ ty }: Pick<HandlerMetadata, "ty">): string | undefined {
  if (ty === "Workflow") return "run of the workflow";
  return ty?.toLowerCase();
}

export const isKeyed = ({ ty }: Pick<ServiceMetadata, "ty">): boolean => ty !== "Service";

export type OptionName =
  | "idempotency_retention"
  | "workflow_completion_retention"
  | "journal_retention"
  | "inactivity_timeout"
  | "abort_timeout"
  | "state_ttl";

export interface Option {
  readonly name: OptionName;
  readonly label: string;
  readonly means: string;
}

export const OPTIONS: readonly Option[] = [
  {
    name: "idempotency_retention",
    label: "Idempotency retention",
    means: "How long a call with an idempotency key is kept after completion, so that the same key returns the same result.",
  },
  {
    name: "workflow_completion_retention",
    label: "Workflow retention",
    means: "How long a workflow, its state and its promises are kept after its run has completed.",
  },
  {
    name: "journal_retention",
    label: "Journal retention",
    means: "How long the journal of an invocation is kept after completion.",
  },
  {
    name: "inactivity_timeout",
    label: "Inactivity timeout",
    means: "After this time without a message the server suspends the handler, which resumes when a result it waits for arrives.",
  },
  {
    name: "abort_timeout",
    label: "Abort timeout",
    means: "When the handler has not suspended within this time, the attempt is aborted and retried.",
  },
  {
    name: "state_ttl",
    label: "State time to live",
    means:
      "After how long the state of an object expires that no handler changes; 1s to 3650d, 0s for never. Applies to existing objects, too, and later registrations keep it.",
  },
];

/** Types of services that have an option; all types when absent. */
const TYPE_OF: Readonly<Partial<Record<OptionName, string>>> = {
  workflow_completion_retention: "Workflow",
  state_ttl: "VirtualObject",
};

/** Options that this type of service has. */
export function optionsOf({ ty }: Pick<ServiceMetadata, "ty">): readonly Option[] {
  return OPTIONS.filter(({ name }) => (TYPE_OF[name] ?? ty) === ty);
}

/** The option as the handler sets it itself; handlers have no retention of workflows and no time to live of state. */
export function ownOption(handler: HandlerMetadata, name: OptionName): string | undefined {
  return name === "workflow_completion_retention" || name === "state_ttl" ? undefined : handler[name];
}

/** Settings of handlers that differ from those of the service: `place: 5m`. */
export function handlersWithOwn(handlers: readonly HandlerMetadata[], name: OptionName): readonly string[] {
  return handlers.flatMap((handler) => {
    const own = ownOption(handler, name);
    return own !== undefined ? [`${handler.name}: ${own}`] : [];
  });
}

/** `first after 500ms, then ×2 up to 1m, 70 attempts, then paused`; empty when nothing is configured. */
export function retryText(policy: RetryPolicyView | undefined): string {
  if (policy === undefined) return "";
  const { initial_interval, exponentiation_factor, max_interval, max_attempts, on_max_attempts } = policy;
  const parts = [
    ...(initial_interval ? [`first retry after ${initial_interval}`] : []),
    ...(exponentiation_factor ? [`then ×${exponentiation_factor}`] : []),
    ...(max_interval ? [`at most ${max_interval}`] : []),
    ...(max_attempts ? [`${max_attempts} attempts`] : []),
    ...(on_max_attempts ? [on_max_attempts === "Kill" ? "then killed" : "then paused"] : []),
  ];
  return parts.join(", ");
}

/** Retry policy of a service as text; `unlimited` without a limit of attempts. Empty without a policy. */
export function serviceRetryText(policy: RetryPolicyView | undefined): string {
  if (policy === undefined) return "";
  if (policy.max_attempts) return retryText(policy);
  return `${retryText({ ...policy, on_max_attempts: undefined })}, unlimited`;
}

/** A link only where a browser would follow it to a web page; everything else stays a text. */
export function webAddress(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, href } = new URL(text);
  return protocol === "http:" || protocol === "https:" ? href : undefined;
}

/** Fields of a changed configuration: only those that differ from the current one. */
export function changesOf(
  service: ServiceMetadata,
  desired: Readonly<Partial<Record<OptionName, string>>> & { readonly public: boolean },
): Partial<Record<OptionName, string>> & { public?: boolean } {
  const changes: Partial<Record<OptionName, string>> & { public?: boolean } = {};
  if (desired.public !== service.public) changes.public = desired.public;
  for (const { name } of optionsOf(service)) {
    const value = desired[name]?.trim();
    if (value !== undefined && value !== "" && value !== service[name]) changes[name] = value;
  }
  return changes;
}
