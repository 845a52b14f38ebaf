/** `@perdure/client/cloud`: accounts, environments, keys and members of a cloud. */

export { Secret } from "@perdure/base";
export * from "@perdure/cloud-client";
