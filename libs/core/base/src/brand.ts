/** Branded types keep strings of different meanings apart; a brand costs nothing at run time. */

/** `T` that only the function that checked or made the value returns. */
export type Brand<T, B extends string> = T & { readonly __brand: B };
