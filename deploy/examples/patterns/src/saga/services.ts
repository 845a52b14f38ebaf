/**
 * Saga: several bookings in several systems, all or none. Each booking registers its compensation before it begins; when one is refused,
 * the compensations run in reverse order. Steps and compensations survive crashes, so no booking is left behind.
 */
import { type Context, service, TerminalError } from "@restatedev/restate-sdk";
import { z } from "zod";
import { callOutside } from "#kit/call-outside";

export interface Trip {
  readonly traveller: string;
  readonly from: string;
  readonly to: string;
}

const Booking = z.object({ reference: z.string() });
const Done = z.object({});

export const tripBooking = service({
  name: "TripBooking",
  handlers: {
    /** Returns the references of flight, car and hotel. Fails with the refusal of the first system that refuses, and cancels the others. */
    book: async (ctx: Context, trip: Trip): Promise<readonly string[]> => {
      const compensations: (() => Promise<unknown>)[] = [];
      const references: string[] = [];
      try {
        for (const system of ["flights", "cars", "hotels"]) {
          // The same value in every attempt: the system recognizes a repeated request.
          const key = ctx.rand.uuidv4();
          compensations.push(() => ctx.run(`cancel ${system}`, () => callOutside(`${system}/cancel`, key, { key }, Done)));
          const { reference } = await ctx.run(`book ${system}`, () => callOutside(`${system}/book`, key, trip, Booking));
          references.push(reference);
        }
        return references;
      } catch (cause) {
        if (!(cause instanceof TerminalError)) throw cause; // A retry follows; nothing is compensated.
        for (const compensate of compensations.toReversed()) await compensate();
        throw cause;
      }
    },
  },
});
