/**
 * Runs operations of the Cloud API, for command lines with a token and for the console with a session. Checks the caller's membership
 * and role, and the shape of the request.
 */
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type AccountPower, hasPower, parseAccountId } from "@perdure/cloud";
import { accountOperations, exportAuditEventsRequest, userOperations } from "@perdure/cloud-client";
import { bodyOf, notAMember, respond, TenancyApiError } from "@perdure/cloud-requests";
import type { Request, Response } from "express";
import type { z } from "zod";
import { DEAR_CALL_COST } from "./limits.js";
import { AccountCall, type AccountHandlers, type OperationCall, type UserHandlers } from "./operation.js";
import { accountHandlers, userHandlers } from "./operations/accounts.js";
import { bookHandlers, exportAudit } from "./operations/books.js";
import { environmentHandlers } from "./operations/environments.js";
import { keyHandlers } from "./operations/keys.js";
import { memberHandlers } from "./operations/members.js";

const ofAccounts: AccountHandlers = {
  ...accountHandlers,
  ...environmentHandlers,
  ...keyHandlers,
  ...memberHandlers,
  ...bookHandlers,
};

/** The permission that each operation of an account needs, by the name of the operation. */
export const accountPowers: ReadonlyMap<string, AccountPower> = new Map(
  Object.entries(ofAccounts).map(([name, { needs }]) => [name, needs]),
);

const ofUsers: UserHandlers = userHandlers;

/** Operations that read much of the database or of files. */
const DEAR: ReadonlySet<string> = new Set(["GetEnvironmentLogs", "ExportAuditEvents", "ListAuditEvents"]);

/** `POST …/<operation>`: answers, or rejects with the error to answer. */
export async function answerUserOperation(call: OperationCall, name: string, req: Request, res: Response): Promise<void> {
  call.ports.calls.take(call.userId);
  if (!Object.hasOwn(userOperations, name)) throw unknownOperation();
  const operation = name as keyof typeof userOperations;
  const request = shaped(userOperations[operation].request, await bodyOf(req, call.ports.clock));
  const handle = ofUsers[operation] as (call: OperationCall, request: unknown) => Promise<unknown>;
  respond(res, await handle(call, request));
}

/** `POST …/<account>/<operation>`: the same for an account. */
export async function answerAccountOperation(
  call: OperationCall,
  account: string,
  name: string,
  req: Request,
  res: Response,
): Promise<void> {
  call.ports.calls.take(call.userId);
  const member = await memberOf(call, account);
  if (DEAR.has(name)) call.ports.calls.take(call.userId, DEAR_CALL_COST - 1);
  if (name === "ExportAuditEvents") return await answerExport(member, req, res);
  if (!Object.hasOwn(accountOperations, name)) throw unknownOperation();
  const operation = name as keyof typeof accountOperations;
  const { needs, handle } = ofAccounts[operation];
  if (!hasPower(member.role, needs)) throw roleForbids(member);
  const request = shaped(accountOperations[operation].request, await bodyOf(req, member.ports.clock));
  respond(res, await (handle as (call: AccountCall, request: unknown) => Promise<unknown>)(member, request));
}

async function answerExport(member: AccountCall, req: Request, res: Response): Promise<void> {
  if (!hasPower(member.role, "members")) throw roleForbids(member);
  const { format, ...filter } = shaped(exportAuditEventsRequest, await bodyOf(req, member.ports.clock));
  res.writeHead(200, { "content-type": format === "csv" ? "text/csv; charset=utf-8" : "application/jsonl" });
  await pipeline(Readable.from(exportAudit(member, filter, format)), res);
}

async function memberOf(call: OperationCall, account: string): Promise<AccountCall> {
  const accountId = parseAccountId(account);
  const role = accountId === undefined ? undefined : await call.ports.database.tables.accounts.roleOf(accountId, call.userId);
  if (accountId === undefined || role === undefined) throw notAMember();
  return new AccountCall(call, accountId, role);
}

export function shaped<S extends z.ZodType>(shape: S, value: unknown): z.output<S> {
  const result = shape.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const path = issue?.path.map(String).join(".") ?? "";
  throw new TenancyApiError("PERD0400", `${path === "" ? "body" : path}: ${issue?.message ?? "unexpected shape"}`);
}

function unknownOperation(): TenancyApiError {
  return new TenancyApiError("PERD0404", "There is no such operation");
}

function roleForbids({ role }: AccountCall): TenancyApiError {
  return new TenancyApiError("PERD0403", `The role '${role}' does not allow this`);
}
