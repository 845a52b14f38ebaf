/** `GET /invocations/{id}/bundle`: everything that a replay of the invocation on another machine needs. */
import { getBundle } from "@perdure/admin-contract";
import { type InvocationId, PerdureError, partitionOf } from "@perdure/base";
import { type BundleSource, type RedactionRules, redactSource, startState } from "@perdure/bundles";
import { hasState, isExclusive, isInFlight, isWorkflowRun, keyspaceOf } from "@perdure/state-machine";
import { JournalTooLarge } from "@perdure/storage";
import { BundleSlots } from "../bundle-slots.js";
import { type ApiAnswer, json } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import { type ApiRequest, badQuery } from "../http/request.js";
import { type ApiRoute, route } from "../http/route.js";
import { invocationParam } from "../ids.js";
import { type InsightSource, readSnapshot, routeOf } from "../insight/source.js";
import { BUNDLE_BYTES_MAX, BUNDLE_NAMES_MAX } from "../limits.js";
import type { AdminPorts } from "../ports.js";
import { bundleView } from "../views/bundle-view.js";

export function bundleRoutes(ports: AdminPorts): readonly ApiRoute[] {
  const slots = new BundleSlots();
  return [
    route(getBundle, {
      summary: "Everything that a replay of the invocation needs: input, journal, state, versions and errors",
      answers: {
        200: "The bundle",
        404: "Unknown invocation",
        413: "The journal and state are too large (OPS0011)",
        429: "Too many bundles are made at this moment (OPS0014)",
      },
      handle: (request) => {
        const id = invocationParam(request);
        const rules = rulesOf(request);
        return slots.run(() => makeBundle(ports, id, rules));
      },
    }),
  ];
}

async function makeBundle(ports: AdminPorts, id: InvocationId, rules: RedactionRules): Promise<ApiAnswer> {
  const source = await readSource(ports.insight, id);
  if (source === undefined) throw new RouteError(404, `The requested invocation '${id}' does not exist`);
  const { snapshot, stateIsComplete } = source;
  const redacted = await redactSource(source, rules);
  const deploymentId = snapshot.invocation.pinned?.deploymentId;
  return json(
    200,
    bundleView({
      source: redacted,
      stateIsComplete,
      rules,
      changed: redacted.changed,
      unsearched: redacted.unsearched,
      deployment: deploymentId && ports.registry.deployment(deploymentId),
      nowMs: ports.clock.nowMs(),
      idleMs: routeOf(ports.registry, snapshot.invocation).idleMs,
    }),
  );
}

function rulesOf(request: ApiRequest): RedactionRules {
  return {
    isOn: request.flag("redact", true),
    added: namesQuery(request, "secret"),
    kept: namesQuery(request, "keep"),
    keepsOtherFormats: request.flag("keep_other_formats", false),
  };
}

function namesQuery(request: ApiRequest, parameter: string): readonly string[] {
  const names = (request.query.get(parameter) ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  if (names.length > BUNDLE_NAMES_MAX) throw badQuery(`${parameter}: expected at most ${BUNDLE_NAMES_MAX} names`);
  return names;
}

interface ReadSource extends BundleSource {
  readonly stateIsComplete: boolean;
}

/** Undefined when the invocation is not stored. Rejects with OPS0011 when it is too large, without having read much more than is permitted. */
async function readSource(insight: InsightSource, id: InvocationId): Promise<ReadSource | undefined> {
  try {
    return await readBounded(insight, id);
  } catch (cause) {
    if (!(cause instanceof JournalTooLarge)) throw cause;
    const detail = `the journal of the invocation has more than ${BUNDLE_BYTES_MAX} bytes, which is what a bundle may have`;
    throw new PerdureError("OPS0011", detail, { cause });
  }
}

async function readBounded(insight: InsightSource, id: InvocationId): Promise<ReadSource | undefined> {
  const snapshot = await readSnapshot(insight, id, Number.POSITIVE_INFINITY, BUNDLE_BYTES_MAX);
  if (snapshot === undefined) return undefined;
  const { invocation, entries } = snapshot;
  const { target } = invocation.facts;
  if (!hasState(target)) return bounded({ snapshot, state: undefined, stateIsComplete: true });
  // Until the handler ends nothing else changes the state of its object, except edits of an operator.
  const isHeld = isInFlight(invocation) && (isExclusive(target) || isWorkflowRun(target));
  const partition = partitionOf(id, insight.partitionCount);
  const current = isHeld ? await insight.store.stateOf(partition, keyspaceOf(target), target.key) : undefined;
  const { values, isComplete } = startState(entries, current);
  return bounded({ snapshot, state: values, stateIsComplete: isComplete });
}

function bounded(source: ReadSource): ReadSource {
  let bytes = 0;
  for (const { body } of source.snapshot.entries) bytes += body.length;
  for (const [key, value] of source.state ?? []) bytes += key.length + value.length;
  if (bytes <= BUNDLE_BYTES_MAX) return source;
  throw new PerdureError(
    "OPS0011",
    `the journal and the state of the invocation have ${bytes} bytes; a bundle may have ${BUNDLE_BYTES_MAX}`,
  );
}
