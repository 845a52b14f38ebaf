/** `@perdure/client/node`: the transport for Node, which keeps connections open and trusts the authorities that it is given. */
export * from "@perdure/admin-client/node";
