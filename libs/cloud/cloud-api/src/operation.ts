/**
 * Operations of the Cloud API: each declares its request and the permission it needs; the caller and account are resolved before it runs.
 */
import type { AccountId, AccountPower, EnvironmentId, MemberRole, UserId } from "@perdure/cloud";
import type { AccountOperations, ResponseOf, UserOperations } from "@perdure/cloud-client";
import { TenancyApiError } from "@perdure/cloud-requests";
import type { AuditEntry, EnvironmentRecord, TenancyTables } from "@perdure/postgres";
import type { z } from "zod";
import type { TenancyOptions, TenancyPorts } from "./ports.js";

/** The part of an audit record that an operation supplies; the call supplies the rest. */
interface AuditedAction {
  readonly action: string;
  readonly accountId?: AccountId;
  readonly environmentId?: EnvironmentId;
  readonly target?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** The caller and its address. */
export interface CallerFacts {
  readonly userId: UserId;
  readonly requestId: string;
  readonly remoteAddress: string | undefined;
  /** Time until which the presence of a page's user counts as confirmed. Undefined for calls with a token. */
  readonly presence?: { readonly confirmedUntilMs: number } | undefined;
}

export class OperationCall {
  readonly ports: TenancyPorts;
  readonly options: TenancyOptions;
  readonly userId: UserId;
  readonly requestId: string;
  readonly remoteAddress: string | undefined;
  readonly presence: CallerFacts["presence"];
  /** Constant during the call. */
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
   * For actions that grant lasting access or destroy data: a page must have confirmed the user's presence recently, so that neither an
   * unattended laptop nor a script in a page is enough (T31). Throws PERD0428. Calls with a token pass: pages cannot read tokens.
   */
  needsConfirmation(): void {
    if (this.presence === undefined || this.presence.confirmedUntilMs > this.nowMs) return;
    throw new TenancyApiError("PERD0428", "Confirm first that it is you");
  }

  /** Adds a record to the audit log, in the transaction of the change it describes. */
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

  /** An environment of the account; throws 404 for any other, and for deleted ones. */
  async environment(id: EnvironmentId, tables = this.ports.database.tables): Promise<EnvironmentRecord> {
    return this.#own(await tables.environments.get(id));
  }

  /** The same, locked until the transaction ends. */
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

interface AccountHandler<N extends keyof AccountOperations> {
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
