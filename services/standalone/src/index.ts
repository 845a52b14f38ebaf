/** Runs every role in one process on embedded stores. */
export {};
