/**
 * Checks before traffic moves whether new code can continue invocations of the old code. A registration can request the check (`verify`),
 * and for a registered deployment it checks whether stuck invocations could be resumed on it.
 */

import { checkDeployment } from "@perdure/admin-contract";
import { CheckDeployment, type RegisterDeployment } from "@perdure/admin-contract/requests";
import type { CheckOptions, Registry, Verification, VerificationFinding } from "@perdure/metadata";
import type { z } from "zod";
import { type ApiAnswer, json } from "../http/answer.js";
import type { ApiRequest } from "../http/request.js";
import { type ApiRoute, route } from "../http/route.js";
import { deploymentParam } from "../ids.js";
import { verificationView } from "../views/verification-view.js";

/** Bounds of the check that the registration requests, or undefined; the body has precedence over the query. */
export function requestedBoundsOf(
  verify: z.infer<typeof RegisterDeployment>["verify"],
  request: ApiRequest,
): CheckOptions | undefined {
  const requested = verify ?? request.flag("verify", false);
  if (requested === false) return undefined;
  return requested === true ? {} : boundsIn(requested);
}

function boundsIn(body: z.infer<typeof CheckDeployment>): CheckOptions {
  return {
    inFlightPerHandler: body.in_flight_per_handler ?? undefined,
    completedPerHandler: body.completed_per_handler ?? undefined,
    invocations: body.invocations ?? undefined,
    timeoutMs: body.timeout ?? undefined,
    replayTimeoutMs: body.replay_timeout ?? undefined,
    bytes: body.bytes ?? undefined,
    concurrency: body.concurrency ?? undefined,
  };
}

/** The answer to a registration whose code would fail with existing invocations; undefined when the check found no obstacle. */
export function refusalOf(verification: Verification, breaking: boolean): ApiAnswer | undefined {
  const { incompatible, found: matchCount, findings } = verification;
  if (incompatible === 0 || breaking) return undefined;
  const message =
    `[META0101] ${incompatible} of ${matchCount} existing invocation(s) found would fail on the new code. ` +
    `${first(findings)}Set 'breaking' to register it all the same.`;
  return json(409, { message, restate_code: "META0101", verification: verificationView(verification) });
}

function first([finding]: readonly VerificationFinding[]): string {
  if (finding === undefined) return "";
  const { service, handler, invocationId, kind, commandIndex, expected, actual } = finding;
  const who = `First: ${service}/${handler}, ${invocationId}`;
  if (kind !== "journalMismatch") return `${who}: ${finding.message}. `;
  const where = commandIndex === undefined ? "" : ` at command ${commandIndex}`;
  const journal = expected === undefined ? "" : `, where the journal has ${commandText(expected)}`;
  return `${who}: RT0016${where}${journal}${actual === undefined ? "" : ` and the code does ${commandText(actual)}`}. `;
}

function commandText({ type, name }: { readonly type: string; readonly name: string | undefined }): string {
  return name === undefined ? type : `${type} '${name}'`;
}

export function deployCheckRoutes(registry: Registry): readonly ApiRoute[] {
  return [
    route(checkDeployment, {
      summary: "Check whether suspended and paused invocations could be resumed on a deployment",
      body: CheckDeployment,
      answers: { 200: "Findings of the check", 404: "Unknown deployment" },
      handle: async (request) => {
        const id = deploymentParam(request);
        const body = request.header("content-type") === undefined ? {} : await request.json(CheckDeployment);
        return json(200, verificationView(await registry.checkDeployment(id, boundsIn(body), request.signal)));
      },
    }),
  ];
}
