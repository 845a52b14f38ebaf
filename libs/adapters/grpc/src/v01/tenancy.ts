/**
 * Requests to tenancy in the form of v0.1: the name of a method, and its arguments and result as JSON. To be removed in v0.3; until then
 * processes of v0.1 and later ones run together while a cloud is upgraded.
 */
import { create } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import { PerdureError, Secret } from "@perdure/base";
import type {
  BareEnvironmentId,
  EnvironmentFacts,
  EnvironmentId,
  GatewayReport,
  Tenancy,
  TenancyChange,
  TunnelsReport,
  UsageReport,
} from "@perdure/cloud";
import { fromJson, toJson } from "../codec/json.js";
import { tenancyDefinition } from "../definitions.js";
import {
  type TenancyAnswer,
  TenancyAnswerSchema,
  type TenancyNewsMessage,
  type TenancyQuestion,
  TenancyQuestionSchema,
} from "../gen/v1/tenancy_pb.js";
import { callUnary, type UnaryCallOptions } from "../unary.js";

/** Methods of the Tenancy port that are one question and one answer. */
export type TenancyMethod = Exclude<keyof Tenancy, "watch">;

interface JsonFacts extends Omit<EnvironmentFacts, "upstream"> {
  readonly upstream?: { readonly ingress: string; readonly admin: string; readonly secret?: string };
}

function encodeFacts(facts: EnvironmentFacts): JsonFacts {
  const { upstream, ...rest } = facts;
  if (upstream === undefined) return rest;
  const { ingress, admin, secret } = upstream;
  return { ...rest, upstream: secret === undefined ? { ingress, admin } : { ingress, admin, secret: secret.reveal() } };
}

function decodeFacts({ upstream, ...rest }: JsonFacts): EnvironmentFacts {
  if (upstream === undefined) return { ...rest, upstream: undefined };
  const { ingress, admin, secret } = upstream;
  return { ...rest, upstream: secret === undefined ? { ingress, admin } : { ingress, admin, secret: new Secret(secret) } };
}

export async function callTenancyV01(
  client: Client,
  method: TenancyMethod,
  values: readonly unknown[],
  options: UnaryCallOptions,
): Promise<unknown> {
  const question = create(TenancyQuestionSchema, { method, arguments: toJson(values) });
  const { result } = await callUnary(client, tenancyDefinition.ask, question, options);
  const value = fromJson(result) ?? undefined;
  if (method === "environments") return (value as readonly JsonFacts[]).map(decodeFacts);
  return method === "environment" && value !== undefined ? decodeFacts(value as JsonFacts) : value;
}

export function eventOfV01({ news: event }: TenancyNewsMessage): TenancyChange {
  return fromJson(event) as TenancyChange;
}

export async function answerV01(tenancy: Tenancy, { method, arguments: body }: TenancyQuestion): Promise<TenancyAnswer> {
  const [first, second] = fromJson(body) as readonly unknown[];
  return create(TenancyAnswerSchema, { result: toJson(await resultOf(tenancy, method as TenancyMethod, first, second)) });
}

async function resultOf(tenancy: Tenancy, method: TenancyMethod, first: unknown, second: unknown): Promise<unknown> {
  switch (method) {
    case "environment": {
      const facts = await tenancy.environment(first as BareEnvironmentId);
      return facts === undefined ? undefined : encodeFacts(facts);
    }
    case "environments":
      return (await tenancy.environments()).map(encodeFacts);
    case "authenticate":
      return tenancy.authenticate(first as string, second as EnvironmentId);
    case "report":
      return tenancy.report(first as readonly UsageReport[]);
    case "reportTunnels":
      return tenancy.reportTunnels(first as TunnelsReport);
    case "shareRates":
      return tenancy.shareRates(first as GatewayReport);
    case "runtimeOf":
      return tenancy.runtimeOf(first as string);
    default:
      throw new PerdureError("OPS0003", `there is no question '${method}'`);
  }
}
