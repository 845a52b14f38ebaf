/** Parses and validates the discovery manifest of an endpoint and compares revisions of a service. It does no I/O. */
export * from "./compare.js";
export * from "./content-type.js";
export * from "./definition.js";
export { describeJsonSchema, jsonSchemaProblem } from "./json-schema.js";
export { MANIFEST_BYTES_MAX } from "./limits.js";
export { MANIFEST_ACCEPT, type ManifestProblem, parseManifest } from "./parse.js";
