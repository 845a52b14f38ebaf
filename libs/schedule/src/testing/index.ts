/** Why: builders and a book in memory for tests of schedules, here and in other packages. */
export * from "./builders.js";
