/** What `@jest/globals` exports to suites that share modules: the functions of the suite that is running. */
export let afterAll;
export let afterEach;
export let beforeAll;
export let beforeEach;
export let describe;
export let expect;
export let it;
export let test;

/** Under this symbol the global objects of a suite have the limit of its tests. */
export const LIMIT_OF_SUITE = Symbol.for("TEST_TIMEOUT_SYMBOL");

let environmentOfSuite;

/** The rest of Jest's object belongs to its own modules: fake timers and spies come from libraries. */
export const jest = {
  /** Limits the tests and hooks of this suite that state no limit, in milliseconds. */
  setTimeout(ms) {
    globalThis[LIMIT_OF_SUITE] = ms;
    environmentOfSuite.global[LIMIT_OF_SUITE] = ms;
  },
};

/** Called before a suite is loaded, with jest-circus's functions for it. */
export function setGlobals(globals, environment) {
  ({ afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } = globals);
  environmentOfSuite = environment;
}
