/** Why: two strings that mean different things must not be mixed up; a brand costs nothing at run time. */

/** `T` that can only be obtained from the function that checked or made it. */
export type Brand<T, B extends string> = T & { readonly __brand: B };
