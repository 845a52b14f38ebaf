/** `@perdure/client`: the management API, SQL and the ingress of one environment. */
export * from "@perdure/admin-client";
