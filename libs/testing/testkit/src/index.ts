/** What tests of every package share: seeded randomness, virtual time, and proof that nothing was left behind. */

export * from "./certificates.js";
export * from "./http2-frames.js";
export * from "./leak-check.js";
export * from "./longest-pauses.js";
export * from "./raw-connection.js";
export * from "./seeded-random.js";
export * from "./stuck-client.js";
export * from "./tiers.js";
export * from "./timeout-factor.js";
export * from "./virtual-clock.js";
