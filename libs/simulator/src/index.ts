/** Many processors and invokers in one seeded, faulty world. */
export type { Finding } from "./findings.js";
export type { Settings, Weather } from "./settings.js";
export { type Report, type SimulationOptions, simulate } from "./simulation.js";
