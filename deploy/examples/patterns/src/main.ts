/** Serves the services of all patterns over HTTP/2 on port 9080 (or `PORT`). */
import { serve } from "@restatedev/restate-sdk";
import { PATTERNS } from "#patterns/patterns";

const port = await serve({
  services: PATTERNS.flatMap(({ services }) => [...services]),
  port: Number(process.env["PORT"] ?? 9080),
});
console.log(`listening on ${port}`);
