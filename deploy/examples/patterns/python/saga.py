"""Saga: several bookings in several systems, all or none. See ../src/saga/services.ts for the explanation."""

from restate import Context, Service, TerminalError

from outside import call_outside

SYSTEMS = ["flights", "cars", "hotels"]

trip_booking = Service("TripBooking")


@trip_booking.handler()
async def book(ctx: Context, trip: dict) -> list[str]:
    """Returns the references of flight, car and hotel, or cancels what was booked before the refusal."""
    begun: list[tuple[str, str]] = []
    references: list[str] = []
    try:
        for system in SYSTEMS:
            key = str(ctx.uuid())  # The same value in every attempt: the system recognizes a repeated request.
            begun.append((system, key))
            booking = await ctx.run_typed(f"book {system}", call_outside, action=f"{system}/book", key=key, body=trip)
            references.append(booking["reference"])
        return references
    except TerminalError:
        for system, key in reversed(begun):
            await ctx.run_typed(f"cancel {system}", call_outside, action=f"{system}/cancel", key=key, body={"key": key})
        raise
