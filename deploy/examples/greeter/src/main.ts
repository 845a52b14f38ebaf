/** Serves the three over HTTP/2 on port 9080 (or `PORT`). Register it with the server: POST /deployments {"uri": "http://localhost:9080"}. */

import { serve } from "@restatedev/restate-sdk";
import { counter } from "#services/counter";
import { greeter } from "#services/greeter";
import { signup } from "#services/signup";

const port = await serve({ services: [greeter, counter, signup], port: Number(process.env["PORT"] ?? 9080) });
console.log(`listening on ${port}`);
