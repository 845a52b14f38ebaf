/** The two settings of every listener. */
import { z } from "zod";
import { custom, port } from "../config/setting.js";

/** Where APIs without credentials listen by default: only programs of this machine reach them. */
const LOOPBACK = "127.0.0.1";

/** A host without a port: `bind-port` has the port, and the two must not contradict each other. `*`: every address. */
const host = z
  .string()
  .regex(/^(\*|[A-Za-z0-9.-]+|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)$/, "must be a host name, an IP address, or * for every address")
  .refine((text) => !/^[^:]+:\d+$/.test(text), "must be an address without a port; 'bind-port' sets the port");

/** Setting of listeners that other machines reach. */
export const bindAddress = () =>
  custom(host.optional(), {
    sentence: "Address to listen on; every address of the machine when not set, or '*'.",
    form: "scalar",
  });

/** Setting of listeners that answer without a credential, or that only other processes of the cluster use. */
export const loopbackAddress = () =>
  custom(host.prefault(LOOPBACK), {
    sentence: "Address to listen on: only this machine reaches the default; '*' is every address of the machine.",
    form: "scalar",
  });

export const bindPort = (fallback: number) => port(fallback, { sentence: "Port to listen on; 0 takes a free one." });

/** An address for display. */
export const advertisedAddress = (sentence: string) =>
  custom(z.url({ protocol: /^https?$/, error: "must be an http or https address" }).optional(), { sentence, form: "scalar" });
