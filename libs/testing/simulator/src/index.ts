/** Simulates many processors and invokers in one seeded world with faults. */
export type { SimulationFinding } from "./findings.js";
export { type ScaleOptions, type ScaleReport, simulateScale } from "./scale/scale-run.js";
export type { SimulationSettings, Weather } from "./settings.js";
export { type SimulationOptions, type SimulationReport, simulate } from "./simulation.js";
