/** Keeps passwords as Argon2id hashes; a check takes the same time with and without a stored hash. */
import { hash as argon2Hash, verify as argon2Verify, type Options } from "@node-rs/argon2";
import type { Random, Secret } from "@perdure/base";
import { randomBase62 } from "@perdure/cloud";
import { TenancyApiError } from "@perdure/cloud-requests";
import {
  PASSWORD_CHARS_MAX,
  PASSWORD_CHARS_MIN,
  PASSWORD_MEMORY_KIB,
  PASSWORD_PASSES,
  PASSWORDS_AT_ONCE,
  PASSWORDS_WAITING_MAX,
} from "./limits.js";

/** 2: Argon2id; the library exports the enumeration only as a type. */
const PARAMETERS: Options = { algorithm: 2, memoryCost: PASSWORD_MEMORY_KIB, timeCost: PASSWORD_PASSES, parallelism: 1 };

export class Passwords {
  /** The hash of a random password, for users without one. */
  readonly #decoy: string;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  private constructor(decoy: string) {
    this.#decoy = decoy;
  }

  static async open(random: Random): Promise<Passwords> {
    return new Passwords(await argon2Hash(randomBase62(43, random), PARAMETERS));
  }

  /** Throws PERD0429 when too many wait. */
  hash(password: Secret): Promise<string> {
    return this.#inTurn(() => argon2Hash(text(password), PARAMETERS));
  }

  /** False, after the same work, when there is no hash. Throws PERD0429 when too many wait. */
  async matches(password: Secret, hash: string | undefined): Promise<boolean> {
    const isRight = await this.#inTurn(() => argon2Verify(hash ?? this.#decoy, text(password)));
    return isRight && hash !== undefined;
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= PASSWORDS_AT_ONCE) {
      if (this.#waiting.length >= PASSWORDS_WAITING_MAX) {
        throw new TenancyApiError("PERD0429", "Too many users sign in at this moment: try again", { "retry-after": "2" });
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve)); // A finished job resolves the next waiting one.
    } else {
      this.#running++;
    }
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}

/** Why a password is not accepted, as a text for its owner; undefined when it is. */
export function passwordProblem(password: Secret, email: string): string | undefined {
  const chars = [...text(password)].length;
  if (chars < PASSWORD_CHARS_MIN) return `A password has at least ${PASSWORD_CHARS_MIN} characters`;
  if (chars > PASSWORD_CHARS_MAX) return `A password has at most ${PASSWORD_CHARS_MAX} characters`;
  return text(password).toLowerCase() === email ? "The e-mail address is not a valid password" : undefined;
}

/** Normalised, so that the composition of accents does not matter. */
function text(password: Secret): string {
  return password.reveal().normalize("NFKC");
}
