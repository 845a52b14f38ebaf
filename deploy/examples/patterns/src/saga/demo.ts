/** The hotel is full. The endpoint is killed while the car is being cancelled. */
import type { Pattern } from "#kit/pattern";
import { tripBooking } from "#patterns/saga/services";

export const saga: Pattern = {
  name: "saga",
  summary: "several bookings, all or none: a refusal cancels what was booked before",
  isInEveryLanguage: true,
  services: [tripBooking],
  demo: async (stage) => {
    const { outside } = stage;
    outside.on("flights/book", () => ({ body: { reference: "F-1" } }));
    outside.on("cars/book", () => ({ body: { reference: "C-1" } }));
    outside.on("hotels/book", () => ({ status: 409, body: "the hotel is full" }));
    const cancelling = outside.hold("cars/cancel");

    const trip = { traveller: "Ada", from: "London", to: "Turin" };
    stage.say("books flight, car and hotel; the hotel refuses");
    const outcome = stage.ingress
      .serviceClient(tripBooking)
      .book(trip)
      .then(
        () => "booked",
        (cause: Error) => cause.message,
      );
    await cancelling.performed;
    stage.say("the car is cancelled, the result of this step is not stored yet");
    await stage.crash("endpoint");
    cancelling.release();

    const message = await outcome;
    stage.check("the caller gets the refusal of the hotel", message.includes("the hotel is full"));
    stage.check("flight and car were booked once", count("flights/book") === 1 && count("cars/book") === 1);
    stage.check("flight and car were cancelled once", count("flights/cancel") === 1 && count("cars/cancel") === 1);
    stage.check("the interrupted step ran again, under the same key", outside.requestCount("cars/cancel") === 2);

    function count(action: string): number {
      return outside.performed(action).length;
    }
  },
};
