/**
 * `POST /services/{service}/state` replaces the whole state of one key. The edit goes through the partition that owns the key and waits for
 * its running invocation; a version that differs already now is refused instead of dropped later.
 */

import { replaceState, setStateTtl } from "@perdure/admin-contract";
import { ModifyState, ModifyStateTtl } from "@perdure/admin-contract/requests";
import { newInvocationId } from "@perdure/base";
import { empty } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import type { ApiRequest } from "../http/request.js";
import { type ApiRoute, route } from "../http/route.js";
import { STATE_BODY_BYTES_MAX } from "../limits.js";
import { asOperation, startedBy } from "../operations/apply-undoable.js";
import type { AdminPorts } from "../ports.js";

export function stateRoutes(ports: AdminPorts): readonly ApiRoute[] {
  return [
    route(replaceState, {
      summary: "Replace the state of one key of an object or workflow",
      body: ModifyState,
      answers: {
        202: "The edit is stored, and applied behind what runs on the key; `x-perdure-operation` names the operation that undoes it",
        400: "Plain services have no state",
        404: "Unknown service",
        409: "The state is not at the given version",
      },
      handle: (request) => modifyState(ports, request),
    }),
    route(setStateTtl, {
      summary: "Set the time to live of the state of one object, from now on",
      body: ModifyStateTtl,
      answers: { 202: "The time to live is stored", 400: "Only virtual objects have one", 404: "Unknown service" },
      handle: (request) => modifyStateTtl(ports, request),
    }),
  ];
}

async function modifyState(ports: AdminPorts, request: ApiRequest) {
  const { registry, partitions, clock, random } = ports;
  const service = request.param("service");
  const body = await request.json(ModifyState, STATE_BODY_BYTES_MAX);
  const kind = registry.service(service)?.revision.definition.kind;
  if (kind === "service") throw new RouteError(400, "Cannot modify state for service type Service");
  // Clearing stays possible after a service was removed.
  if (kind === undefined && body.new_state.length > 0) {
    throw new RouteError(404, `The requested service '${service}' does not exist`);
  }
  refuseScope(body.scope);
  const key = body.object_key;
  const edit = {
    kind: "mutateState",
    id: newInvocationId({ service, key, handler: "" }, clock.nowMs(), random),
    service,
    key,
    exclusive: kind !== "workflow",
    expectedVersion: body.version ?? undefined,
    entries: body.new_state,
  } as const;
  const subject = `${service}/${key}`;
  const operation = { verb: "edit-state", subject, ids: [edit.id], startedBy: startedBy(request), reason: undefined } as const;
  const { result: answer, headers } = await asOperation(
    ports,
    operation,
    (undo) => partitions.submit(undo === undefined ? edit : { ...edit, undo }),
    ({ kind: answered }) => answered !== "versionMismatch",
  );
  if (answer.kind === "versionMismatch") {
    throw new RouteError(409, `The state of '${service}/${key}' is not at version '${body.version}' (any more); read it again`);
  }
  return empty(202, headers);
}

/** It ends with the state: what is written after the state has expired has the time to live of the service. */
async function modifyStateTtl({ registry, partitions, clock, random }: AdminPorts, request: ApiRequest) {
  const service = request.param("service");
  const { object_key: key, scope, ttl } = await request.json(ModifyStateTtl);
  const kind = registry.service(service)?.revision.definition.kind;
  if (kind === undefined) throw new RouteError(404, `The requested service '${service}' does not exist`);
  if (kind !== "virtualObject") throw new RouteError(400, "State with a time to live is for virtual objects only");
  refuseScope(scope);
  const id = newInvocationId({ service, key, handler: "" }, clock.nowMs(), random);
  await partitions.submit({ kind: "setStateTtl", id, service, key, ttlMs: ttl ?? undefined });
  return empty(202);
}

function refuseScope(scope: string | null | undefined): void {
  if (scope !== undefined && scope !== null) throw new RouteError(400, "scoped state is not enabled on this server", "RT0024");
}
