/** Why: those who ask tenancy, and tenancy itself, are tested against the same doubles. */
export { MemoryProvisioner } from "./provisioner.js";
export { aDesiredRuntime, describeProvisioner, untilState } from "./provisioner-contract.js";
export { exampleEnvironment, exampleLimits, MemoryTenancy } from "./tenancy.js";
