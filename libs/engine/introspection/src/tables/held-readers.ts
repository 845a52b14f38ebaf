/** Columns that `sys_invocation_state` and `sys_invocation` both show of an invocation in an invoker's memory. */
import { journalCommandName } from "@perdure/service-protocol";
import type { HeldInvocation } from "../ports.js";
import type { Readers } from "../table.js";
import { failureTextWithReason } from "./invocation-readers.js";

export const heldReaders: Readers<HeldInvocation> = {
  retry_count: ({ retryCount }) => retryCount,
  last_start_at: ({ lastStartAtMs }) => lastStartAtMs,
  next_retry_at: ({ nextRetryAtMs }) => nextRetryAtMs,
  last_attempt_deployment_id: ({ lastAttemptDeploymentId }) => lastAttemptDeploymentId,
  last_attempt_server: ({ lastAttemptServer }) => lastAttemptServer,
  last_failure: ({ lastFailure }) => {
    if (lastFailure === undefined) return undefined;
    const text = failureTextWithReason(lastFailure.code, lastFailure.message);
    return lastFailure.stacktrace === undefined ? text : `${text}\n${lastFailure.stacktrace}`;
  },
  last_failure_error_code: ({ lastFailure }) => lastFailure?.errorCode,
  last_failure_related_command_index: ({ lastFailure }) => lastFailure?.relatedCommandIndex,
  last_failure_related_command_name: ({ lastFailure }) => lastFailure?.relatedCommandName,
  last_failure_related_command_type: ({ lastFailure }) =>
    lastFailure?.relatedCommandType === undefined ? undefined : journalCommandName(lastFailure.relatedCommandType),
  last_awaiting_on_future_json: ({ lastAwaitingJson }) => lastAwaitingJson,
};
