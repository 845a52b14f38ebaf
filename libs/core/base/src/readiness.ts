/** Reason that a server's `/readyz` gives when its commits do not become durable; the supervisor of the process recognises it. */
export const NO_COMMIT = "a durable commit";
