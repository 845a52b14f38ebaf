/** Unit and suite tests of every package: ESM through swc, no real registry of modules but Node's own. */
export default {
  roots: ["<rootDir>/libs", "<rootDir>/services", "<rootDir>/deploy/examples"],
  testMatch: ["**/*.test.ts"],
  testEnvironment: "node",
  extensionsToTreatAsEsm: [".ts"],
  moduleNameMapper: { "^(\\.{1,2}/.*)\\.js$": "$1" },
  transform: {
    "^.+\\.ts$": [
      "@swc/jest",
      { jsc: { parser: { syntax: "typescript" }, target: "es2024" }, module: { type: "es6" }, sourceMaps: "inline" },
    ],
  },
  // Suites prove themselves that they leave nothing behind; a run must end even when one is wrong about that.
  forceExit: true,
  testTimeout: 20_000,
};
