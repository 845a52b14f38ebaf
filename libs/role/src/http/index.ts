/** The HTTP kit: one way for every role to listen. */

export { checkAddress, type Door, type DoorSettings, type ListenAddress, listenOn, openDoor } from "./door.js";
export * as httpLimits from "./limits.js";
export { isLeaving, lingerBeforeClose } from "./linger.js";
export { createHttpPort, type HttpHandlers, type HttpPort, type HttpPortDependencies, type HttpPortOptions } from "./port.js";
export { openProbes, type ProbePorts } from "./probes.js";
export { type Protocol, protocolOf, sniffProtocol } from "./sniff.js";
