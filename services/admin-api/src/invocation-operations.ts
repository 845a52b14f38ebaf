/**
 * Operations on an invocation, one function per verb from id to outcome. The single routes, the deprecated DELETE and the batches all use
 * them, so a verb has the same meaning everywhere (admin-api.md §5, service-protocol.md §7).
 */

import type { InvocationVerb } from "@perdure/admin-contract";
import type { DeploymentChoice } from "@perdure/admin-contract/requests";
import { type DeploymentId, InvariantError, type InvocationId, siblingInvocationId } from "@perdure/base";
import type { DeploymentView } from "@perdure/control";
import type { CommandAnswer, ForkEdits, Invocation, PartitionCommand, UndoMark } from "@perdure/state-machine";
import { RouteError } from "./http/errors.js";
import type { AdminPorts } from "./ports.js";

/** Outcome of a verb: `status` as in the single routes; `problem` is set exactly when the verb was refused. */
export interface VerbOutcome {
  readonly status: number;
  readonly problem: string | undefined;
  /** Id of the invocation that restart-as-new created. */
  readonly newId: InvocationId | undefined;
  /** Set when the journal cannot be cut at the requested entry. */
  readonly reason?: "incompletePrefix";
  /** Set when the verb succeeded, and changed nothing that an undo could revert. */
  readonly isFinal?: true;
  /** What an undo could not revert. */
  readonly note?: string | undefined;
}

type InvocationPorts = Pick<AdminPorts, "registry" | "partitions" | "clock" | "random">;

/** Executes verbs without further options; the others have functions of their own below. */
export async function applyVerb(
  ports: Pick<InvocationPorts, "partitions">,
  verb: Exclude<InvocationVerb, "resume" | "restart-as-new">,
  id: InvocationId,
  undo?: UndoMark,
): Promise<VerbOutcome> {
  return outcomeOf(verb, id, await ports.partitions.submit(commandOf(verb, id, undo)));
}

/** Resumes the invocation; with another choice than `keep` it also moves to that deployment. */
export async function resume(
  ports: InvocationPorts,
  id: InvocationId,
  choice: DeploymentChoice,
  mark?: UndoMark,
): Promise<VerbOutcome> {
  let moveTo: DeploymentId | undefined;
  if (choice.kind !== "keep") {
    const invocation = await ports.partitions.describe(id);
    const problem = moveProblem(id, invocation, choice);
    if (problem !== undefined) return problem;
    if (invocation?.pinned !== undefined) {
      const target = findDeployment(ports, invocation, choice);
      const refusal = unfit(id, target, invocation, "resume");
      if (refusal !== undefined) return refusal;
      moveTo = target?.id;
    }
  }
  if (moveTo === undefined) {
    const undo = mark === undefined ? {} : { undo: mark };
    return outcomeOf("resume", id, await ports.partitions.submit({ kind: "resume", id, moveTo, ...undo }));
  }
  const outcome = outcomeOf("resume", id, await ports.partitions.submit({ kind: "resume", id, moveTo }));
  return outcome.problem === undefined ? { ...outcome, isFinal: true } : outcome; // A move is not undone.
}

interface CopyOptions {
  /** Id of the copy, a fresh one when absent; a repeated request with the same id creates only one copy. */
  readonly newId?: InvocationId | undefined;
  /** Makes the copy a fork, also of an invocation in flight. */
  readonly fork?: ForkEdits | undefined;
}

/** A fresh id for a copy of the invocation. */
export function idOfCopy({ clock, random }: Pick<AdminPorts, "clock" | "random">, id: InvocationId): InvocationId {
  return siblingInvocationId(id, clock.nowMs(), random);
}

/** Starts a copy of a completed invocation, with its journal up to and including entry `from`. */
export async function restartAsNew(
  ports: InvocationPorts,
  id: InvocationId,
  from: number,
  choice: DeploymentChoice,
  { newId = idOfCopy(ports, id), fork }: CopyOptions = {},
): Promise<VerbOutcome> {
  let moveTo: DeploymentId | undefined;
  if (choice.kind === "id" || (choice.kind === "latest" && from > 0)) {
    const invocation = await ports.partitions.describe(id);
    if (invocation === undefined) return refusalOf("restart-as-new", id, { kind: "notFound" });
    if (invocation.status === "completed" || fork !== undefined) {
      const target = findDeployment(ports, invocation, choice);
      const refusal = unfit(id, target, invocation, "restart as new");
      if (refusal !== undefined) return refusal;
      // Without replayed entries the first attempt chooses the deployment: the latest, which equals the request.
      moveTo = target?.id;
    }
  }
  const keepDeployment = choice.kind === "keep";
  const answer = await ports.partitions.submit({ kind: "restartAsNew", id, newId, from, moveTo, keepDeployment, fork });
  const outcome = outcomeOf("restart-as-new", id, answer);
  return outcome.problem === undefined ? { ...outcome, newId } : outcome;
}

/** The deployment with which a copy of the invocation continues. Throws `RouteError` 400 when it is gone or does not fit. */
export function deploymentFor(
  ports: InvocationPorts,
  id: InvocationId,
  invocation: Invocation,
  choice: DeploymentChoice,
): DeploymentView {
  const kept = choice.kind === "keep" && invocation.pinned !== undefined ? invocation.pinned.deploymentId : undefined;
  const target = findDeployment(ports, invocation, kept === undefined ? choice : { kind: "id", id: kept });
  const refusal = unfit(id, target, invocation, "fork");
  if (target !== undefined && refusal === undefined) return target;
  throw new RouteError(refusal?.status ?? 400, refusal?.problem ?? "");
}

function commandOf(
  verb: Exclude<InvocationVerb, "resume" | "restart-as-new">,
  id: InvocationId,
  undo: UndoMark | undefined,
): Exclude<PartitionCommand, { kind: "invoke" }> {
  if (verb === "purge-journal") return { kind: "purgeJournal", id };
  return undo === undefined ? { kind: verb, id } : { kind: verb, id, undo };
}

/**
 * Why the invocation cannot move; only suspended and paused invocations that are pinned can, and unpinned ones use the latest deployment
 * anyway.
 */
function moveProblem(id: InvocationId, invocation: Invocation | undefined, choice: DeploymentChoice): VerbOutcome | undefined {
  if (invocation === undefined) return refusalOf("resume", id, { kind: "notFound" });
  switch (invocation.status) {
    case "completed":
      return refusalOf("resume", id, { kind: "alreadyCompleted" });
    case "scheduled":
    case "inboxed":
      return refusalOf("resume", id, { kind: "notStarted" });
    case "invoked":
      return refusalOf("resume", id, { kind: "stillRunning" });
    default:
      return invocation.pinned === undefined && choice.kind === "id"
        ? refusalOf("resume", id, { kind: "deploymentNotPinned" })
        : undefined;
  }
}

function findDeployment(
  { registry }: InvocationPorts,
  invocation: Invocation,
  choice: DeploymentChoice,
): DeploymentView | undefined {
  const { deployments, services } = registry.current();
  if (choice.kind === "id") return deployments.get(choice.id);
  const latest = services.get(invocation.facts.target.service)?.deploymentId;
  return latest === undefined ? undefined : deployments.get(latest);
}

/** Why the chosen deployment does not fit: it is gone, does not serve the handler, or supports other protocol versions. */
function unfit(
  id: InvocationId,
  deployment: DeploymentView | undefined,
  invocation: Invocation,
  doing: string,
): VerbOutcome | undefined {
  if (deployment === undefined) {
    return refused(400, `The given deployment was not found when trying to ${doing} the invocation '${id}'.`);
  }
  const { service, handler } = invocation.facts.target;
  if (deployment.services.get(service)?.handlers.has(handler) !== true) {
    return refused(
      400,
      `The deployment '${deployment.id}' does not serve '${service}/${handler}', which the invocation '${id}' needs.`,
    );
  }
  const version = invocation.pinned?.protocolVersion;
  if (version !== undefined && (version < deployment.minProtocolVersion || version > deployment.maxProtocolVersion)) {
    return refused(
      400,
      `The deployment '${deployment.id}' speaks the service protocol versions [${deployment.minProtocolVersion}, ` +
        `${deployment.maxProtocolVersion}], but the invocation '${id}' needs version ${version}.`,
    );
  }
  return undefined;
}

function outcomeOf(verb: InvocationVerb, id: InvocationId, answer: CommandAnswer): VerbOutcome {
  switch (answer.kind) {
    case "done":
      return { status: 200, problem: undefined, newId: undefined };
    case "accepted":
    case "pending": {
      const outcome = { status: verb === "cancel" || verb === "pause" ? 202 : 200, problem: undefined, newId: undefined };
      // The handler is notified of its cancellation, which is not withdrawn; the resumed invocation was not paused.
      return verb === "cancel" || verb === "resume" ? { ...outcome, isFinal: true } : outcome;
    }
    case "alreadyPaused":
      return { status: 200, problem: undefined, newId: undefined, isFinal: true };
    default:
      return refusalOf(verb, id, answer);
  }
}

/** The one table of refusals: which state forbids which verb, and the text of the refusal. */
function refusalOf(verb: InvocationVerb, id: InvocationId, answer: CommandAnswer): VerbOutcome {
  switch (answer.kind) {
    case "notFound":
      return refused(404, `The requested invocation '${id}' does not exist`);
    case "alreadyCompleted":
      if (verb === "pause") return refused(409, `The invocation '${id}' is not running, cannot be paused.`);
      if (verb === "resume") return refused(409, `The invocation '${id}' is completed, cannot be resumed.`);
      return refused(409, `The invocation '${id}' was already completed.`);
    case "notRunning":
      return refused(409, `The invocation '${id}' is not running, cannot be paused.`);
    case "notStarted":
      if (verb === "pause") return refused(409, `The invocation '${id}' is not running, cannot be paused.`);
      if (verb === "resume") return refused(425, `The invocation '${id}' is either inboxed or scheduled, cannot be resumed.`);
      if (verb === "restart-as-new") {
        return refused(425, `The invocation '${id}' cannot be restarted because it's not running yet.`);
      }
      return refused(409, `The invocation '${id}' is not yet completed.`);
    case "stillRunning":
    case "notCompleted":
      if (verb === "restart-as-new") return refused(409, `The invocation '${id}' is still running.`);
      if (verb === "resume") return refused(409, cannotMove(id));
      return refused(409, `The invocation '${id}' is not yet completed.`);
    case "deploymentNotPinned":
      return refused(409, cannotMove(id));
    case "journalGone":
      return refused(
        410,
        `The invocation '${id}' cannot be restarted because the input is not available. ` +
          "This indicates that the journal was already purged, or not retained at all.",
      );
    case "notRestartable":
      if (answer.reason === "workflow") {
        return refused(422, `Restarting the invocation '${id}' is not supported: a workflow runs once for its key.`);
      }
      return {
        ...refused(
          400,
          `The prefix of the journal '${id}' up to 'from' (included) contains some Commands without respective Completions.`,
        ),
        reason: "incompletePrefix",
      };
    default:
      throw new InvariantError(`a partition does not answer '${answer.kind}' to ${verb}`);
  }
}

function cannotMove(id: InvocationId): string {
  return `The invocation '${id}' is still running or the deployment id is not pinned yet, deployment id cannot be changed.`;
}

function refused(status: number, problem: string): VerbOutcome {
  return { status, problem, newId: undefined };
}
