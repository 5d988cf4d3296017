"""Calls every method of every service with another language's gRPC library.

Usage: foreign.py FOLDER_OF_PROTO SERVICE=HOST:PORT...
Prints one line for each check of these services: the call, and the reply or the code and text of the error.
"""

import importlib
import os
import sys
import tempfile

import grpc
from grpc_tools import protoc

TIMEOUT = 20.0


def compile_messages(folder):
    """Generates modules for the messages in a temporary folder, and imports them by name."""
    out = tempfile.mkdtemp(prefix="benchwright-foreign-")
    files = sorted(name for name in os.listdir(folder) if name.endswith(".proto"))
    arguments = ["protoc", f"-I{folder}", f"--python_out={out}", f"--grpc_python_out={out}"]
    if protoc.main(arguments + files) != 0:
        sys.exit("protoc failed")
    sys.path.insert(0, out)
    loaded = {}
    for name in (file.removesuffix(".proto") for file in files):
        messages = importlib.import_module(f"{name}_pb2")
        loaded[name] = messages, importlib.import_module(f"{name}_pb2_grpc")
    for folder, _, names in os.walk(out, topdown=False):
        for name in names:
            os.remove(os.path.join(folder, name))
        os.rmdir(folder)
    return loaded


class Service:
    """One service; `call` prints the reply of a method."""

    def __init__(self, name, address, loaded):
        self.name = name.removesuffix("-delayed")
        self.messages, stubs = loaded[self.name]
        self.title = self.name.capitalize()
        # The address is loopback, whatever proxies this machine is configured to use.
        self.channel = grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)])
        self.stub = getattr(stubs, f"{self.title}Stub")(self.channel)

    def call(self, what, method, request, show, timeout=TIMEOUT):
        try:
            outcome = show(getattr(self.stub, method)(request, timeout=timeout))
        except grpc.RpcError as error:
            outcome = described(error)
        print(f"{self.name}.{self.title}/{method} {what}: {outcome}")

    def check_errors(self, method):
        """Checks the calls that every service must refuse."""
        for what, asked, message, compression in (
            ("with 300 KB", method, OVERSIZED, None),
            ("with garbage", method, b"\x0c\xff\xff", None),
            ("compressed", method, b"", grpc.Compression.Gzip),
            ("unknown method", "Frobnicate", b"", None),
        ):
            called = self.channel.unary_unary(f"/{self.name}.{self.title}/{asked}")
            try:
                outcome = repr(called(message, timeout=TIMEOUT, compression=compression))
            except grpc.RpcError as error:
                outcome = described(error)
            print(f"{self.name}.{self.title}/{asked} {what}: {outcome}")


def described(error):
    code = error.code().name
    # The other texts are the libraries' own, and change with their versions.
    is_ours = code in ("NOT_FOUND", "INVALID_ARGUMENT")
    return f"{code} {error.details()}" if is_ours else code


def ids(places):
    return " ".join(place.id for place in places)


def listed(names):
    return " ".join(names) or "none"


# Field 31, which no message has, with 300,000 bytes.
OVERSIZED = b"\xfa\x01\xe0\xa7\x12" + b"x" * 300_000
NEAR_39 = {"lat": 38.0235, "lon": -122.095}
STAY = {"inDate": "2015-04-09", "outDate": "2015-04-10"}


def check_search(search):
    request = search.messages.NearbyRequest
    hotels = lambda reply: listed(reply.hotelIds)
    search.call("near 39", "Nearby", request(**NEAR_39, **STAY), hotels)
    search.call("far away", "Nearby", request(lat=0, lon=0, **STAY), hotels)
    search.check_errors("Nearby")


def check_geo(geo):
    request = geo.messages.NearbyRequest
    geo.call("near 39", "Nearby", request(**NEAR_39), lambda reply: listed(reply.hotelIds))
    geo.check_errors("Nearby")
    geo.call("nowhere", "Nearby", request(lat=float("nan")), lambda reply: listed(reply.hotelIds))


def check_rate(rate):
    request = rate.messages.GetRatesRequest

    def plan(one):
        room = one.roomType
        return (
            f"{one.hotelId} {one.code} {one.inDate} {one.outDate} {room.code} {room.currency}"
            f" {room.bookableRate} {room.totalRate} {room.totalRateInclusive}"
        )

    plans = lambda reply: "; ".join(map(plan, reply.ratePlans)) or "none"
    rate.call("of 1 2 4 9 81", "GetRates", request(hotelIds="1 2 4 9 81".split(), **STAY), plans)
    rate.call("of none", "GetRates", request(), plans)
    rate.check_errors("GetRates")


def check_profile(profile):
    request = profile.messages.GetProfilesRequest

    def hotel(one):
        address = one.address
        return (
            f"{one.id} {one.name} {one.phoneNumber} {len(one.description)} {address.streetNumber}"
            f" {address.streetName} {address.city} {address.state} {address.country}"
            f" {address.postalCode} {address.lat:.4f} {address.lon:.4f}"
            f" {one.images[0].url} {one.images[0].default}"
        )

    hotels = lambda reply: "; ".join(map(hotel, reply.hotels)) or "none"
    asked = request(hotelIds=["3", "81", "39"], locale="en")
    profile.call("of 3 81 39", "GetProfiles", asked, hotels)
    profile.check_errors("GetProfiles")


def check_recommendation(recommendation):
    request = recommendation.messages.GetRecommendationsRequest
    for require in ("dis", "rate", "price", "best"):
        asked = request(require=require, **NEAR_39)
        hotels = lambda reply: listed(reply.HotelIds)
        recommendation.call(require, "GetRecommendations", asked, hotels)
    recommendation.check_errors("GetRecommendations")


def check_user(user):
    request = user.messages.CheckUserRequest
    for name, password in (("Cornell_7", "7" * 10), ("Cornell_7", "7"), ("Alice", "")):
        asked = request(username=name, password=password)
        user.call(f"{name} {password!r}", "CheckUser", asked, lambda reply: reply.correct)
    user.check_errors("CheckUser")


def check_reservation(reservation):
    request = reservation.messages.ReservationRequest
    hotels = lambda reply: listed(reply.hotelId)

    def check(what, method, hotel="9", rooms=1, stay=STAY):
        asked = request(customerName="Bob", hotelId=hotel.split(), roomNumber=rooms, **stay)
        reservation.call(what, method, asked, hotels)

    check("of 9 81 10", "CheckAvailability", "9 81 10")
    check("for 201 rooms", "CheckAvailability", "9 10", 201)
    check("without nights", "CheckAvailability", stay={"inDate": "2015-04-10", "outDate": "x"})
    check("of 200 rooms in 9", "MakeReservation", rooms=200)
    check("of one more", "MakeReservation")
    check("of 9 10 afterwards", "CheckAvailability", "9 10")
    check("in 81", "MakeReservation", "81")
    check("in 9 and 10", "MakeReservation", "9 10")
    check("of -1 rooms", "MakeReservation", rooms=-1)
    for what, in_date, out_date in (
        ("on 30 February", "2015-02-30", "2015-03-01"),
        ("of 367 nights", "2015-01-01", "2016-01-03"),
        ("of 366 nights", "2015-01-01", "2016-01-02"),
        ("without nights", "2015-04-10", "2015-04-10"),
    ):
        check(what, "MakeReservation", "10", stay={"inDate": in_date, "outDate": out_date})
    reservation.check_errors("MakeReservation")


def check_review(review):
    request = review.messages.ReviewRequest

    def reviews(reply):
        one = lambda of: f"{of.reviewId} {of.hotelId} {of.name} {of.rating} {of.images.url}"
        return "; ".join(map(one, reply.reviews)) or "none"

    for hotel in ("2", "81"):
        review.call(f"of {hotel}", "GetReviews", request(hotelId=hotel), reviews)
    review.check_errors("GetReviews")


def check_attractions(attractions):
    request = attractions.messages.Request
    found = lambda reply: listed(reply.attractionIds)
    for method in ("NearbyRest", "NearbyMus", "NearbyCinema"):
        attractions.call("of 1", method, request(hotelId="1"), found)
    attractions.call("of 81", "NearbyRest", request(hotelId="81"), found)
    attractions.check_errors("NearbyRest")


def check_store(store):
    of = store.messages
    nothing = of.Nothing()

    def counts(reply):
        fields = (field.name for field in reply.DESCRIPTOR.fields if field.name != "digest")
        numbers = " ".join(f"{name} {getattr(reply, name)}" for name in fields)
        return f"{numbers}, a digest of {len(reply.digest)} digits"

    def check(what, method, request, show):
        store.call(what, method, request, show)

    last = lambda place: f"{place.id} {place.lat:.4f} {place.lon:.4f}"
    shown = lambda reply: f"{len(reply.places)}, last {last(reply.places[-1])}"
    check("all", "Places", nothing, shown)
    candidate = lambda one: f"{last(one.place)} {one.rate} {one.price}"
    shown = lambda reply: f"{len(reply.candidates)}, last {candidate(reply.candidates[-1])}"
    check("all", "Candidates", nothing, shown)

    def kinds(reply):
        found = (reply.restaurants, reply.museums, reply.cinemas)
        return f"{len(reply.hotels)} hotels; " + "; ".join(ids(kind) or "none" for kind in found)

    check("all", "Attractions", nothing, kinds)
    for hotels in ([], ["9", "81", "1"]):
        request, what = of.Hotels(hotelIds=hotels), f"of {listed(hotels)}"
        plans = lambda reply: f"{len(reply.ratePlans)}, first {reply.ratePlans[0].hotelId}"
        check(what, "RatePlans", request, plans)
        profiles = lambda reply: f"{len(reply.hotels)}, first {reply.hotels[0].id}"
        check(what, "Profiles", request, profiles)
        reviews = lambda reply: f"{len(reply.reviews)}, first {reply.reviews[0].reviewId}"
        check(what, "Reviews", request, reviews)
    digest = lambda reply: reply.digest if reply.HasField("digest") else "none"
    for name in ("Cornell_7", "Alice"):
        check(f"of {name}", "PasswordDigest", of.PasswordDigestRequest(username=name), digest)
    # 16534 is 2015-04-09.
    asked = of.HasRoomsRequest(hotelIds=["10", "9", "81"], begin=16534, end=16535, rooms=1)
    check("of 10 9 81", "HasRooms", asked, lambda reply: listed(reply.hotelIds))
    booking = {"customerName": "Bob", "begin": 16600, "end": 16602, "rooms": 200}
    made = lambda reply: reply.made
    for what, change in (
        ("all rooms of 9", {"hotelId": "9"}),
        ("one more", {"hotelId": "9", "rooms": 1}),
        ("in 81", {"hotelId": "81"}),
        ("367 nights", {"hotelId": "9", "end": 16967}),
    ):
        check(what, "Reserve", of.Booking(**(booking | change)), made)
    store.check_errors("Reserve")
    check("before", "Counts", nothing, counts)
    check("all", "Reset", nothing, counts)
    check("after", "Counts", nothing, counts)


def check_delay(geo):
    """Checks a service that blocks its only thread for longer than the caller's deadline."""
    request = geo.messages.NearbyRequest(**NEAR_39)
    hotels = lambda reply: listed(reply.hotelIds)
    geo.call("too late", "Nearby", request, hotels, timeout=0.1)
    geo.call("with timeout", "Nearby", request, hotels)


CHECKS = {
    "search": check_search,
    "geo": check_geo,
    "rate": check_rate,
    "profile": check_profile,
    "recommendation": check_recommendation,
    "user": check_user,
    "reservation": check_reservation,
    "review": check_review,
    "attractions": check_attractions,
    "geo-delayed": check_delay,
    "store": check_store,
}


def main():
    loaded = compile_messages(sys.argv[1])
    addresses = dict(argument.split("=") for argument in sys.argv[2:])
    for name, check in CHECKS.items():
        if name in addresses:
            service = Service(name, addresses[name], loaded)
            check(service)
            service.channel.close()


main()
