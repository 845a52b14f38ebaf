import { createEndpointHandler } from "@restatedev/restate-sdk/lambda";
import { greeter } from "./greeter.ts";
import { order } from "./order.ts";

export const handler = createEndpointHandler({ services: [greeter, order] });
