/**
 * Requests to tenancy in the form of v0.1: the name of a method, and its arguments and result as JSON. To be removed in v0.3; until then
 * processes of v0.1 and later ones run together while a cloud is upgraded.
 */

import { create } from "@bufbuild/protobuf";
import { PerdureError, Secret } from "@perdure/base";
import type { Authentication, EnvironmentFacts, EnvironmentId, Tenancy, TenancyChange } from "@perdure/cloud";
import type { Channel } from "../channel.js";
import type { FieldCodec } from "../codec/form.js";
import { fromJson, toJson } from "../codec/json.js";
import * as codec from "../codec/tenancy.js";
import { tenancyDefinition } from "../definitions.js";
import * as proto from "../gen/v1/tenancy_pb.js";
import { callUnary, type UnaryCallOptions } from "../unary.js";
import { argumentsV01, checkedV01, fieldsV01, listV01, optionalV01, textV01 } from "./checked.js";

/** Methods of the Tenancy port that are one question and one answer. */
export type TenancyMethod = Exclude<keyof Tenancy, "watch">;
/** Result of each method. */
export type TenancyResult<Method extends TenancyMethod> = Awaited<ReturnType<Tenancy[Method]>>;

// ── values ───────────────────────────────────────────────────────────────────────────────────────

interface JsonFacts extends Omit<EnvironmentFacts, "upstream"> {
  readonly upstream?: { readonly ingress: string; readonly admin: string; readonly secret?: string };
}

function encodeFacts(facts: EnvironmentFacts): JsonFacts {
  const { upstream, ...rest } = facts;
  if (upstream === undefined) return rest;
  const { ingress, admin, secret } = upstream;
  return { ...rest, upstream: secret === undefined ? { ingress, admin } : { ingress, admin, secret: secret.reveal() } };
}

const environment: FieldCodec<EnvironmentFacts, proto.Environment> = { to: codec.toEnvironment, from: codec.fromEnvironment };

function decodeFacts(value: unknown): EnvironmentFacts {
  const { upstream, ...rest } = fieldsV01(value, "an environment");
  const secretOf = (secret: unknown) =>
    optionalV01(secret, "the secret of an environment", (text, what) => new Secret(textV01(text, what)));
  const fields = optionalV01(upstream, "the upstream of an environment", fieldsV01);
  const whole = fields === undefined ? rest : { ...rest, upstream: { ...fields, secret: secretOf(fields["secret"]) } };
  return checkedV01(proto.EnvironmentSchema, environment, whole, "an environment");
}

const authentication: FieldCodec<Authentication, proto.AuthenticateResponse> = {
  to: codec.toAuthentication,
  from: codec.fromAuthentication,
};
const change: FieldCodec<TenancyChange, proto.WatchChangesResponse> = { to: codec.toChange, from: codec.fromChange };
const usage = { to: codec.toUsageReports, from: codec.fromUsageReports };
const tunnels = { to: codec.toTunnelsReport, from: codec.fromTunnelsReport };
const demands = { to: codec.toGatewayReport, from: codec.fromGatewayReport };
const shares = { to: codec.toRateShares, from: codec.fromRateShares };
const environmentId = (value: unknown): EnvironmentId => codec.checkedEnvironmentId(textV01(value, "an environment id"));

// ── client ───────────────────────────────────────────────────────────────────────────────────────

const RESULTS: { readonly [Method in TenancyMethod]: (value: unknown) => TenancyResult<Method> } = {
  environment: (value) => optionalV01(value, "an environment", decodeFacts),
  environments: (value) => listV01(value, "a list of environments").map(decodeFacts),
  authenticate: (value) => checkedV01(proto.AuthenticateResponseSchema, authentication, value, "an answer to a credential"),
  report: () => undefined,
  reportTunnels: () => undefined,
  shareRates: (value) => checkedV01(proto.ShareRatesResponseSchema, shares, value, "shares of rates"),
  runtimeOf: (value) => optionalV01(value, "an environment id", environmentId),
};

export async function callTenancyV01<Method extends TenancyMethod>(
  client: Channel,
  method: Method,
  values: readonly unknown[],
  options: UnaryCallOptions,
): Promise<TenancyResult<Method>> {
  const question = create(proto.TenancyQuestionSchema, { method, arguments: toJson(values) });
  const { result } = await callUnary(client, tenancyDefinition.ask, question, options);
  return RESULTS[method](fromJson(result));
}

export function eventOfV01({ news: event }: proto.TenancyNewsMessage): TenancyChange {
  return checkedV01(proto.WatchChangesResponseSchema, change, fromJson(event), "a change");
}

// ── server ───────────────────────────────────────────────────────────────────────────────────────

/** Each method with its arguments as they came. */
const METHODS: { readonly [Method in TenancyMethod]: (tenancy: Tenancy, values: readonly unknown[]) => Promise<unknown> } = {
  async environment(tenancy, [bareId]) {
    const facts = await tenancy.environment(codec.checkedBareId(textV01(bareId, "an environment id")));
    return facts === undefined ? undefined : encodeFacts(facts);
  },
  environments: async (tenancy) => (await tenancy.environments()).map(encodeFacts),
  authenticate: async (tenancy, [credential, id]) => tenancy.authenticate(textV01(credential, "a credential"), environmentId(id)),
  report: async (tenancy, [reports]) =>
    tenancy.report(checkedV01(proto.ReportUsageRequestSchema, usage, listV01(reports, "usage reports"), "usage reports")),
  reportTunnels: async (tenancy, [report]) =>
    tenancy.reportTunnels(checkedV01(proto.ReportTunnelsRequestSchema, tunnels, report, "a report of tunnels")),
  shareRates: async (tenancy, [report]) =>
    tenancy.shareRates(checkedV01(proto.ShareRatesRequestSchema, demands, report, "a report of a gateway")),
  runtimeOf: async (tenancy, [token]) => tenancy.runtimeOf(textV01(token, "the token of a runtime")),
};

export async function answerV01(
  tenancy: Tenancy,
  { method, arguments: body }: proto.TenancyQuestion,
): Promise<proto.TenancyAnswer> {
  const isMethod = (name: string): name is TenancyMethod => Object.hasOwn(METHODS, name);
  if (!isMethod(method)) throw new PerdureError("OPS0003", `there is no question '${method}'`);
  const result = await METHODS[method](tenancy, argumentsV01(body));
  return create(proto.TenancyAnswerSchema, { result: toJson(result) });
}
