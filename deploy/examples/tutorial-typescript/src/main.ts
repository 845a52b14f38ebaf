import { serve } from "@restatedev/restate-sdk";
import { greeter } from "./greeter.ts";
import { order } from "./order.ts";

const port = await serve({ services: [greeter, order], port: Number(process.env["PORT"] ?? 9080) });
console.log(`listening on ${port}`);
