/** Why: every door listens by the same two settings. */
import { z } from "zod";
import { custom, port } from "../config/setting.js";

/** A host without a port: `bind-port` has the port, and the two must not contradict each other. */
export const bindAddress = () =>
  custom(
    z
      .string()
      .regex(/^([A-Za-z0-9.-]+|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)$/, "must be a host name or an IP address")
      .refine((host) => !/^[^:]+:\d+$/.test(host), "must be an address without a port; 'bind-port' sets the port")
      .optional(),
    { sentence: "Address to listen on; every address of the machine when not set.", form: "scalar" },
  );

export const bindPort = (fallback: number) => port(fallback, { sentence: "Port to listen on; 0 takes a free one." });

/** An address for display. */
export const advertisedAddress = (sentence: string) =>
  custom(z.url({ protocol: /^https?$/, error: "must be an http or https address" }).optional(), { sentence, form: "scalar" });
