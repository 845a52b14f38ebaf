/** The endpoint with planted bugs in TypeScript (see src/sdks/planted/typescript.ts). */
import "../typed-imports.mjs";

await import("../src/sdks/planted/typescript.ts");
