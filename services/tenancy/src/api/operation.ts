/** Why: an operation says what it takes and who may call it; finding out who calls, and what of which account, happens before it. */
import type { AccountId, AccountPower, EnvironmentId, MemberRole, UserId } from "@perdure/cloud";
import type { AccountOperations, ResponseOf, UserOperations } from "@perdure/cloud-client";
import type { AuditEntry, EnvironmentRecord, TenancyTables } from "@perdure/driver-postgres";
import type { z } from "zod";
import type { TenancyOptions, TenancyPorts } from "../ports.js";
import { TenancyApiError } from "./errors.js";

/** What of an audit line an operation says; the rest is known of the call. */
export interface AuditedAction {
  readonly action: string;
  readonly accountId?: AccountId;
  readonly environmentId?: EnvironmentId;
  readonly target?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Who calls, and from where. */
export interface CallerFacts {
  readonly userId: UserId;
  readonly requestId: string;
  readonly remoteAddress: string | undefined;
  /** Of a page: until when it counts that somebody has shown who sits there. Undefined for bearers of tokens. */
  readonly presence?: { readonly confirmedUntilMs: number } | undefined;
}

export class OperationCall {
  readonly ports: TenancyPorts;
  readonly options: TenancyOptions;
  readonly userId: UserId;
  readonly requestId: string;
  readonly remoteAddress: string | undefined;
  readonly presence: CallerFacts["presence"];
  /** The same throughout the call. */
  readonly nowMs: number;

  constructor(ports: TenancyPorts, options: TenancyOptions, who: CallerFacts) {
    this.ports = ports;
    this.options = options;
    this.userId = who.userId;
    this.requestId = who.requestId;
    this.remoteAddress = who.remoteAddress;
    this.presence = who.presence;
    this.nowMs = ports.clock.nowMs();
  }

  /**
   * For what gives lasting access away or destroys: a page must have asked lately who sits there, so that neither an open laptop nor a
   * script that got into a page is enough (T31). Throws PERD0428. Bearers of tokens are not asked: no page can get at those.
   */
  needsConfirmation(): void {
    if (this.presence === undefined || this.presence.confirmedUntilMs > this.nowMs) return;
    throw new TenancyApiError("PERD0428", "Confirm first that it is you");
  }

  /** Adds a line to the audit log, in the transaction of what it tells of. */
  audit(tables: TenancyTables, { action, accountId, environmentId, target, details }: AuditedAction): Promise<void> {
    const entry: AuditEntry = {
      atMs: this.nowMs,
      accountId,
      environmentId,
      actorKind: "user",
      actorId: this.userId,
      action,
      target,
      details: details ?? {},
      requestId: this.requestId,
      remoteAddress: this.remoteAddress,
    };
    return tables.audit.append(entry);
  }
}

/** A call by a member of an account. */
export class AccountCall extends OperationCall {
  readonly accountId: AccountId;
  readonly role: MemberRole;

  constructor(call: OperationCall, accountId: AccountId, role: MemberRole) {
    super(call.ports, call.options, call);
    this.accountId = accountId;
    this.role = role;
  }

  override audit(tables: TenancyTables, entry: AuditedAction): Promise<void> {
    return super.audit(tables, { accountId: this.accountId, ...entry });
  }

  /** An environment of the account; throws 404 for any other, and for those that are gone. */
  async environment(id: EnvironmentId, tables = this.ports.database.tables): Promise<EnvironmentRecord> {
    return this.#own(await tables.environments.get(id));
  }

  /** The same, and nobody changes it until the transaction ends. */
  async lockEnvironment(id: EnvironmentId, tables: TenancyTables): Promise<EnvironmentRecord> {
    return this.#own(await tables.environments.lock(id));
  }

  #own(record: EnvironmentRecord | undefined): EnvironmentRecord {
    if (record === undefined || record.accountId !== this.accountId || record.status === "DELETED") {
      throw new TenancyApiError("PERD0404", "Unknown environment");
    }
    return record;
  }
}

export type UserHandlers = {
  readonly [N in keyof UserOperations]: (
    call: OperationCall,
    request: z.output<UserOperations[N]["request"]>,
  ) => Promise<ResponseOf<UserOperations[N]>>;
};

export interface AccountHandler<N extends keyof AccountOperations> {
  readonly needs: AccountPower;
  readonly handle: (
    call: AccountCall,
    request: z.output<AccountOperations[N]["request"]>,
  ) => Promise<ResponseOf<AccountOperations[N]>>;
}

export type AccountHandlers = { readonly [N in keyof AccountOperations]: AccountHandler<N> };

export const OK = { result: { ok: true as const } };

export function seconds(ms: number): number {
  return Math.floor(ms / 1_000);
}

export function optionalSeconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : seconds(ms);
}
