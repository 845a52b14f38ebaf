/** Doubles for the tests of tenancy and of its clients. */
export { MemoryProvisioner } from "./provisioner.js";
export { aDesiredRuntime, describeProvisioner, untilState } from "./provisioner-contract.js";
export { exampleEnvironment, exampleLimits, MemoryTenancy } from "./tenancy.js";
