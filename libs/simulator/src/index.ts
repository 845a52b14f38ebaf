/** Many processors and invokers in one seeded, faulty world. */
export type { SimulationFinding } from "./findings.js";
export type { SimulationSettings, Weather } from "./settings.js";
export { type SimulationOptions, type SimulationReport, simulate } from "./simulation.js";
