/** Why: the discovery manifest, without I/O: decode and check it, compare revisions, say what would break. */
export * from "./compare.js";
export * from "./content-type.js";
export * from "./definition.js";
export { describeJsonSchema, jsonSchemaProblem } from "./json-schema.js";
export { MANIFEST_BYTES_MAX } from "./limits.js";
export { MANIFEST_ACCEPT, MANIFEST_CONTENT_TYPES, type ManifestProblem, type ParsedManifest, parseManifest } from "./parse.js";
