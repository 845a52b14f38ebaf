/** Why: what a server's `/readyz` names when its commits do not become durable; whatever supervises the process recognises it. */
export const NO_COMMIT = "a durable commit";
