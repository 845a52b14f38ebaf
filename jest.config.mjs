/** Suites of every package. Node.js imports them, and removes their types. */
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
  // What suites leave behind adds up; a worker that has grown is replaced between two suites.
  workerIdleMemoryLimit: "2GB",
  testRunner: "<rootDir>/deploy/testing/shared-modules.mjs",
  transform: {},
  testEnvironment: "<rootDir>/deploy/testing/patient-environment.mjs",
  setupFilesAfterEnv: ["<rootDir>/deploy/testing/equal-bytes.mjs"],
  // Suites prove themselves that they leave nothing behind; a run must end even when one is wrong about that.
  forceExit: true,
  testTimeout: 20_000,
};
