/** Starts a benchmark: `run.mjs bench`, `check`, `sections`, `test-environments` or `threads`. */
import "../typed-imports.mjs";

const [what = "bench"] = process.argv.slice(2);
await import(
  {
    bench: "./bench.ts",
    check: "./check.ts",
    sections: "./sections.mjs",
    "test-environments": "./test-environments.ts",
    threads: "./threads.ts",
  }[what]
);
