/** Starts the chaos runs (see src/chaos/main.ts). */
import "../typed-imports.mjs";

await import("../src/chaos/main.ts");
