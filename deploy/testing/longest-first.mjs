/** Suites that start processes have more than half of the work of a run, whatever the size of their files. */
const STARTS_PROCESSES = /\.server\.test\.ts$/;

/**
 * The order in which suites start. Jest sorts by the times of earlier runs; in a new clone it has none and sorts by the size of files, and a
 * long suite whose file is small would run alone at the end. `tests` are those of Jest, sorted by it.
 */
export function longestFirst(tests) {
  if (tests.some(({ duration }) => duration !== undefined)) return tests;
  const isLong = ({ path }) => STARTS_PROCESSES.test(path);
  return [...tests.filter(isLong), ...tests.filter((test) => !isLong(test))];
}
