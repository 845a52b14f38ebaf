/** Gives the tests of every package seeded random numbers, a virtual clock and a leak check. */

export * from "./certificates.js";
export * from "./http2-frames.js";
export * from "./leak-check.js";
export * from "./longest-pauses.js";
export * from "./raw-connection.js";
export * from "./seeded-random.js";
export * from "./stuck-client.js";
export * from "./tiers.js";
export * from "./timeout-factor.js";
export * from "./until.js";
export * from "./virtual-clock.js";
