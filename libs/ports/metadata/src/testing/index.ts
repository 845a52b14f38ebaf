/** The contract of the port, called by the test of each driver. */
export { describeMetadataStore } from "./contract.js";
