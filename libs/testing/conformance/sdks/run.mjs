/** Starts the suite of published SDKs (see src/sdks/main.ts). */
import "../typed-imports.mjs";

await import("../src/sdks/main.ts");
