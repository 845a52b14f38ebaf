/** Runs attempts of invocations against user endpoints, with retries, budgets and a pool of connections. */
export type { CommandLabel, ReplayResult } from "./check/evaluate.js";
export { createReplayCheck, type ReplayCheck } from "./check/replay-check.js";
export {
  CHECK_HEADER,
  CHECK_HEADER_VALUE,
  type ReplayCheckDeps,
  type ReplayCheckOptions,
  type ReplaySubject,
} from "./check/send-replay.js";
export {
  createStepReplay,
  type ExecutedStep,
  type StepEnd,
  type StepReplay,
  type StepReplayResult,
} from "./check/step-replay.js";
export { createInvoker, type InterruptibleInvoker, type Interruption, type InvokerDeps, type RunningAttempt } from "./invoker.js";
export { LargeMessages } from "./large-messages.js";
export { type InvokerMetrics, noMetrics } from "./metrics.js";
export { type InvokerOptions, invokerDefaults } from "./options.js";
export * from "./ports.js";
export { retryAfterMs } from "./response-check.js";
export {
  createSandbox,
  type Sandbox,
  type SandboxDeps,
  type SandboxOutcome,
  type SandboxRequest,
  type SandboxResult,
} from "./sandbox/sandbox.js";
export type { SandboxStub, UnsentMessage } from "./sandbox/sandbox-world.js";
export { Slots, type SlotUser } from "./slots.js";
export { slotsByMemory } from "./slots-by-memory.js";
export { invokerShareOf } from "./thread-share.js";
