/** Replays bundles in the network namespace that it is started in (see src/sdks/planted/inside.ts). */
import "../typed-imports.mjs";

await import("../src/sdks/planted/inside.ts");
