/** Shapes of a registration's answer about a check of its code. */

interface Command {
  readonly type: string;
  readonly name?: string;
}
export interface Finding {
  readonly kind: string;
  readonly service: string;
  readonly handler: string;
  readonly invocations: number;
  readonly invocation_id: string;
  readonly status: string;
  readonly deployment_id: string;
  readonly code?: string;
  readonly command_index?: number;
  readonly expected?: Command;
  readonly actual?: Command;
  readonly message: string;
  readonly stacktrace?: string;
}
export interface Verification {
  readonly found: number;
  readonly checked: number;
  readonly compatible: number;
  readonly incompatible: number;
  readonly failed: number;
  readonly skipped: number;
  readonly is_complete: boolean;
  readonly findings: readonly Finding[];
  readonly findings_left_out: number;
}
export interface Registered {
  readonly id: string;
  readonly verification?: Verification;
}
