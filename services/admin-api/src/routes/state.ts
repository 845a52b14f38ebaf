/**
 * `POST /services/{service}/state` replaces the whole state of one key. The edit goes through the partition that owns the key and waits for
 * its running invocation; a version that differs already now is refused instead of dropped later.
 */
import { newInvocationId, toBinaryString, utf8 } from "@perdure/base";
import type { UserStateEntry } from "@perdure/state-machine";
import { z } from "zod";
import { empty } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import type { ApiRequest } from "../http/request.js";
import type { ApiRoute } from "../http/route.js";
import { STATE_BODY_BYTES_MAX } from "../limits.js";
import type { AdminPorts } from "../ports.js";

/**
 * Keys to bytes: a list of byte values, or a text that stands for its UTF-8. Parsed without zod, because such a list can have millions of
 * elements and a key can have any name.
 */
const NewState = z.unknown().transform((value, context): readonly UserStateEntry[] => {
  const issue = (path: (string | number)[], message: string) => context.addIssue({ code: "custom", path, message });
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    issue([], value === undefined ? "missing field" : "expected a map");
    return z.NEVER;
  }
  const entries: UserStateEntry[] = [];
  for (const [key, bytes] of Object.entries(value)) {
    const read = typeof bytes === "string" ? utf8(bytes) : readBytes(bytes);
    if (typeof read === "object") entries.push({ key: toBinaryString(utf8(key)), value: read });
    else issue(read < 0 ? [key] : [key, read], read < 0 ? "expected a byte array" : "expected a byte value, 0 to 255");
  }
  return entries;
});

const ModifyState = z
  .object({
    version: z.string().nullish(),
    object_key: z.string(),
    scope: z.string().nullish(),
    new_state: NewState,
  })
  .meta({ id: "ModifyServiceStateRequest" });

export function stateRoutes(ports: AdminPorts): readonly ApiRoute[] {
  return [
    {
      path: "/services/{service}/state",
      operations: {
        POST: {
          summary: "Replace the state of one key of an object or workflow",
          body: ModifyState,
          answers: {
            202: "The edit is stored, and applied behind what runs on the key",
            400: "Plain services have no state",
            404: "Unknown service",
            409: "The state is not at the given version",
          },
          handle: (request) => modifyState(ports, request),
        },
      },
    },
  ];
}

async function modifyState({ registry, partitions, clock, random }: AdminPorts, request: ApiRequest) {
  const service = request.param("service");
  const body = await request.json(ModifyState, STATE_BODY_BYTES_MAX);
  const kind = registry.service(service)?.revision.definition.kind;
  if (kind === "service") throw new RouteError(400, "Cannot modify state for service type Service");
  // Clearing stays possible after a service was removed.
  if (kind === undefined && body.new_state.length > 0) {
    throw new RouteError(404, `The requested service '${service}' does not exist`);
  }
  if (body.scope !== undefined && body.scope !== null) {
    throw new RouteError(400, "scoped state is not enabled on this server", "RT0024");
  }
  const key = body.object_key;
  const answer = await partitions.submit({
    kind: "mutateState",
    id: newInvocationId({ service, key, handler: "" }, clock.nowMs(), random),
    service,
    key,
    exclusive: kind !== "workflow",
    expectedVersion: body.version ?? undefined,
    entries: body.new_state,
  });
  if (answer.kind === "versionMismatch") {
    throw new RouteError(409, `The state of '${service}/${key}' is not at version '${body.version}' (any more); read it again`);
  }
  return empty(202);
}

/** The bytes, or the index of the first element that is not a byte, or −1 when the value is not a list. */
function readBytes(value: unknown): Uint8Array | number {
  if (!Array.isArray(value)) return -1;
  const bytes = new Uint8Array(value.length);
  for (let index = 0; index < value.length; index++) {
    const byte: unknown = value[index];
    if (typeof byte !== "number" || !Number.isInteger(byte) || byte < 0 || byte > 255) return index;
    bytes[index] = byte;
  }
  return bytes;
}
