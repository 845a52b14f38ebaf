/** Unit and suite tests of every package: ESM through swc, no real registry of modules but Node's own. */
export default {
  roots: [
    "<rootDir>/libs",
    "<rootDir>/services",
    "<rootDir>/deploy/examples",
    "<rootDir>/deploy/cloud",
    "<rootDir>/deploy/cluster",
    "<rootDir>/deploy/packages",
    "<rootDir>/deploy/reference",
    "<rootDir>/deploy/release",
    "<rootDir>/deploy/scale",
  ],
  testMatch: ["**/*.test.ts"],
  // Building images and packages in clean directories takes minutes, and examples need the tools of other languages: only `make test-images`,
  // `make test-packages` and `make test-examples` run these suites, by their paths.
  testPathIgnorePatterns: ["/node_modules/", "\\.(?:images|packages|sdks)\\.test\\.ts$"],
  // With workers (`make test`), some suites beside each other and some alone.
  runner: "<rootDir>/deploy/testing/beside-then-alone.mjs",
  // Each suite leaves its copy of the modules behind; a worker that has grown is replaced between two suites.
  workerIdleMemoryLimit: "2GB",
  testEnvironment: "<rootDir>/deploy/testing/patient-environment.mjs",
  setupFilesAfterEnv: ["<rootDir>/deploy/testing/equal-bytes.mjs"],
  extensionsToTreatAsEsm: [".ts"],
  moduleNameMapper: { "^(\\.{1,2}/.*)\\.js$": "$1" },
  transform: {
    "^.+\\.ts$": [
      "<rootDir>/deploy/testing/direct-imports.mjs",
      { jsc: { parser: { syntax: "typescript" }, target: "esnext" }, module: { type: "es6" }, sourceMaps: "inline" },
    ],
  },
  // Suites prove themselves that they leave nothing behind; a run must end even when one is wrong about that.
  forceExit: true,
  testTimeout: 20_000,
};
