/** Bounds of the fuzzer, each with its reason. */
import { TIMEOUT_FACTOR } from "@perdure/testkit";

/** Connections at one time: enough that they meet in a program, few enough for two processors. */
export const AT_A_TIME = 24;
/** Longest pause between the last byte and the end of a connection: time for answers, and for what starts after them. */
export const HOLD_MS_MAX = 12;
/** A program that has answered closes its side at our FIN; one that lingers (2 s) or answers slowly is left behind. */
export const CONNECTION_MS_MAX = 150;
/** Connections between two checks of a program: what a failing batch is narrowed from. */
export const BATCH_CONNECTIONS = 500;
/** A healthy request is answered within this time, also right behind a batch. */
export const HEALTHY_MS = 5_000 * TIMEOUT_FACTOR;
/** Within this time a program has closed what a batch left: refusals that the gateway holds back take up to 21 s, and then some. */
export const DRAIN_MS = 30_000 * TIMEOUT_FACTOR;
/** The system reports the end of a process a little after its listener is gone. */
export const DEATH_MS = 2_000;
export const DRAIN_POLL_MS = 100;
/** Connections at a listener beyond those before the first batch: other programs and healthy requests come and go. */
export const CONNECTIONS_MORE_MAX = 2;
/** File descriptors beyond those before the first batch: connections of pools and to other programs come and go. */
export const DESCRIPTORS_MORE_MAX = 24;
/**
 * MiB of resident memory beyond those after the first batch. V8 gives memory back late, and a heap without pressure is not collected at
 * all, so this finds only what grows with every connection.
 */
export const MEMORY_MORE_MIB_MAX = 192;
/** Bytes of a connection that a report shows. */
export const SHOWN_BYTES_MAX = 2_000;
/** Attempts at an endpoint that is hostile follow each other by the retry policy: a batch of them is over after this time at the latest. */
export const HOSTILE_BATCH_MS_MAX = 60_000 * TIMEOUT_FACTOR;
/** Calls whose attempts dial a hostile endpoint at one time. */
export const DIALLED_AT_A_TIME = 24;
/** Ports of hostile relays: a tunnel client uses at most 16 relays, and an environment has a bounded number of connections. */
export const HOSTILE_RELAYS = 10;
/** A tunnel client pauses for up to 30 s after failures, from 10 ms on and twice as long each time; by then most wait for long. */
export const HOSTILE_RELAY_MS = 4_000;
/** A tunnel that served for 5 s begins with the shortest pause again. */
export const RELAY_SERVED_MS = 5_500;
/** Time that the platform may take to make an environment. */
export const ENVIRONMENT_READY_MS = 60_000;
/** Every handshake of the fuzzer comes from one network. */
export const HANDSHAKES_PER_MINUTE = 1_000_000;
