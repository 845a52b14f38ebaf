/** Why: the promises of the port, to be called by each driver's own test. */
export { describeMetadataStore } from "./contract.js";
