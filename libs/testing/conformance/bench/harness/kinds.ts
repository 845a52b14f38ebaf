/** Kinds of measured systems: a server that drives an endpoint. */

/** `rust`: the published SDK, a release build on one thread. `typescript`: the published SDK under this Node. The cheap one comes first. */
export const ENDPOINTS = ["rust", "typescript"] as const;
export type EndpointKind = (typeof ENDPOINTS)[number];

/** `other` is another build of Perdure. */
export type ServerKind = "perdure" | "other" | "reference";
