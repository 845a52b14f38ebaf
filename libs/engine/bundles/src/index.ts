/** Prepares what is stored about an invocation for a file that leaves the server. */
export { type BundleSource, type RedactionRules, redactSource } from "./redact/redact.js";
export { type StartState, startState } from "./start-state.js";
