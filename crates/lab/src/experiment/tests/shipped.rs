//! The plans of the shipped experiments.

use std::path::Path;

use expect_test::expect;

use super::super::*;
use crate::spec;

/// Plans every shipped spec; a change of method shows as a change of text.
#[test]
fn shipped_specs_plan() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let plan = |name: &str, profile: Option<&str>| {
        let resolved = spec::load(&folder.join(name), profile, &[]).unwrap();
        let text = plan(&resolved).unwrap();
        text.replace(&folder.display().to_string(), "experiments")
    };
    // The stages of the first trial are the same in all profiles except for their lengths.
    let fixed = |name: &str, profile: &str| {
        let text = plan(name, Some(profile));
        text[..text.find("first").unwrap()].to_owned()
    };
    expect![[r#"
        hello · local · roles: sut = CPU 0, load = CPU 1 · at most 2 trials, 6 s
        system    reference ×1
        load      64 connections, Poisson arrivals, GET /
        search    sweep from 500/s to 1,000/s, step 500/s: 500/s, 1,000/s
        trial     warm up 500 ms → measure 2 s → drain ≤ 500 ms
        seed      11831194018420276491
        time      3 s per trial; 2 trials: 6 s; usually 5.6 s; up to 3 min 0 s more if the machine is disturbed
        the first trial:
          start    reference: benchwright reference --delay exponential:1ms --listen 127.0.0.1:0 · ready within 30 s
          drive    benchwright load http://reference/ --rate 500/s --arrivals poisson --connections 64 --warm-up 500ms --duration 2s --drain 500ms --timeout 10s --seed 1540608551651571 --slo 'p99<=20ms,failures<=0.1%' --progress lines --json
          stop     everything
    "#]].assert_eq(&plan("hello.yaml", None));
    expect![[r#"
        hotel-max-throughput · local · roles: sut = CPU 0, load = CPU 1 · at most 45 trials, 4 min 30 s
        system    2 instances × (2 replicas of geo, rate, profile, recommendation, user, reservation, review, attractions, search, frontend + 1 of store): 42 processes
        load      per instance: 64 connections, Poisson arrivals, hotel-mixed.lua
        search    sweep per instance, from 70 % of what a closed loop completes in a short probe, step 5 %; stop: no new maximum (by more than 1 %) in 6 loads
        trial     reset → warm up 1 s → measure 5 s → drain ≤ 500 ms
        seed      6200346834173954307
        time      6.5 s per trial; 7 to 45 trials: 49 s to 4 min 30 s; usually 23 in 2 min 35 s; up to 3 min 0 s more if the machine is disturbed
        first, to find the first load:
          start    store-1: benchwright app hotel store --listen 127.0.0.1:0 · ready within 30 s
          start    store-2: benchwright app hotel store --listen 127.0.0.1:0 · ready within 30 s
          start    geo-1 ×2: benchwright app hotel geo --store store-1 --listen 127.0.0.1:0 · ready within 30 s
          start    rate-1 ×2: benchwright app hotel rate --store store-1 --listen 127.0.0.1:0 · ready within 30 s
          start    profile-1 ×2: benchwright app hotel profile --store store-1 --listen 127.0.0.1:0 · ready within 30 s
          start    recommendation-1 ×2: benchwright app hotel recommendation --store store-1 --listen 127.0.0.1:0 · ready within 30 s
          start    user-1 ×2: benchwright app hotel user --store store-1 --listen 127.0.0.1:0 · ready within 30 s
          start    reservation-1 ×2: benchwright app hotel reservation --store store-1 --listen 127.0.0.1:0 · ready within 30 s
          start    review-1 ×2: benchwright app hotel review --store store-1 --listen 127.0.0.1:0 · ready within 30 s
          start    attractions-1 ×2: benchwright app hotel attractions --store store-1 --listen 127.0.0.1:0 · ready within 30 s
          start    geo-2 ×2: benchwright app hotel geo --store store-2 --listen 127.0.0.1:0 · ready within 30 s
          start    rate-2 ×2: benchwright app hotel rate --store store-2 --listen 127.0.0.1:0 · ready within 30 s
          start    profile-2 ×2: benchwright app hotel profile --store store-2 --listen 127.0.0.1:0 · ready within 30 s
          start    recommendation-2 ×2: benchwright app hotel recommendation --store store-2 --listen 127.0.0.1:0 · ready within 30 s
          start    user-2 ×2: benchwright app hotel user --store store-2 --listen 127.0.0.1:0 · ready within 30 s
          start    reservation-2 ×2: benchwright app hotel reservation --store store-2 --listen 127.0.0.1:0 · ready within 30 s
          start    review-2 ×2: benchwright app hotel review --store store-2 --listen 127.0.0.1:0 · ready within 30 s
          start    attractions-2 ×2: benchwright app hotel attractions --store store-2 --listen 127.0.0.1:0 · ready within 30 s
          start    search-1 ×2: benchwright app hotel search --geo geo-1.1,geo-1.2 --rate rate-1.1,rate-1.2 --listen 127.0.0.1:0 · ready within 30 s
          start    search-2 ×2: benchwright app hotel search --geo geo-2.1,geo-2.2 --rate rate-2.1,rate-2.2 --listen 127.0.0.1:0 · ready within 30 s
          start    frontend-1 ×2: benchwright app hotel frontend --search search-1.1,search-1.2 --profile profile-1.1,profile-1.2 --recommendation recommendation-1.1,recommendation-1.2 --user user-1.1,user-1.2 --reservation reservation-1.1,reservation-1.2 --review review-1.1,review-1.2 --attractions attractions-1.1,attractions-1.2 --store store-1 --listen 127.0.0.1:0 · ready within 30 s
          start    frontend-2 ×2: benchwright app hotel frontend --search search-2.1,search-2.2 --profile profile-2.1,profile-2.2 --recommendation recommendation-2.1,recommendation-2.2 --user user-2.1,user-2.2 --reservation reservation-2.1,reservation-2.2 --review review-2.1,review-2.2 --attractions attractions-2.1,attractions-2.2 --store store-2 --listen 127.0.0.1:0 · ready within 30 s
          ask      GET http://frontend-1.1/healthz → 200
          ask      GET http://frontend-1.2/healthz → 200
          ask      GET http://frontend-2.1/healthz → 200
          ask      GET http://frontend-2.2/healthz → 200
          ask      GET http://frontend-1.1/healthz → 200, `ok` in it
          ask      GET http://frontend-1.1/hotels?inDate=2015-04-09&outDate=2015-04-10&lat=38.0235&lon=-122.095 → 200, `"id":"39"` in it
          ask      GET http://frontend-1.1/hotels?inDate=2015-04-09&outDate=2015-04-10&lat=10&lon=10 → 200, `"features":[]` in it
          ask      GET http://frontend-1.1/hotels?lat=38.0235&lon=-122.095 → 400, `Please specify inDate/outDate params` in it
          ask      GET http://frontend-1.1/recommendations?require=dis&lat=38.0235&lon=-122.095 → 200, `FeatureCollection` in it
          ask      GET http://frontend-1.1/recommendations?require=rate&lat=38.0235&lon=-122.095 → 200, `"id":"39"` in it
          ask      GET http://frontend-1.1/recommendations?require=price&lat=38.0235&lon=-122.095 → 200, `"id":"2"` in it
          ask      GET http://frontend-1.1/recommendations?lat=38.0235&lon=-122.095 → 400, `Please specify require params` in it
          ask      POST http://frontend-1.1/user?username=Cornell_1&password=1111111111 → 200, `Login successfully!` in it
          ask      POST http://frontend-1.1/user?username=Cornell_1&password=no → 200, `Failed. Please check your username and password.` in it
          ask      POST http://frontend-1.1/reservation?inDate=2015-04-10&outDate=2015-04-12&hotelId=39&customerName=Cornell_1&username=Cornell_1&password=1111111111&number=1 → 200, `Reserve successfully!` in it
          ask      POST http://frontend-1.1/reservation?inDate=2015-04-10&outDate=2015-04-12&hotelId=39&customerName=Cornell_1&username=Cornell_1&password=1111111111&number=1000 → 200, `Failed. Already reserved.` in it
          ask      POST http://frontend-1.1/reservation?inDate=2015-04-10&outDate=2015-04-12&hotelId=39&customerName=Cornell_1&username=Cornell_1&password=no&number=1 → 200, `Failed. Please check your username and password.` in it
          ask      GET http://frontend-1.1/review?username=Cornell_1&password=1111111111&hotelId=1 → 200, `Have reviews = 4` in it
          ask      GET http://frontend-1.1/review?username=Cornell_1&password=1111111111&hotelId=80 → 200, `Failed. No Reviews.` in it
          ask      GET http://frontend-1.1/review?username=Cornell_1&password=1111111111 → 400, `Please specify hotelId params` in it
          ask      GET http://frontend-1.1/restaurants?username=Cornell_1&password=1111111111&hotelId=1 → 200, `Have restaurants = 5` in it
          ask      GET http://frontend-1.1/museums?username=Cornell_1&password=1111111111&hotelId=1 → 200, `Have museums = 5` in it
          ask      GET http://frontend-1.1/cinema?username=Cornell_1&password=1111111111&hotelId=1 → 200, `Failed. No Cinemas.` in it
          ask      GET http://frontend-1.1/metrics → 200, `hotel_` in it
          ask      GET http://frontend-2.1/healthz → 200, `ok` in it
          ask      GET http://frontend-2.1/hotels?inDate=2015-04-09&outDate=2015-04-10&lat=38.0235&lon=-122.095 → 200, `"id":"39"` in it
          ask      GET http://frontend-2.1/hotels?inDate=2015-04-09&outDate=2015-04-10&lat=10&lon=10 → 200, `"features":[]` in it
          ask      GET http://frontend-2.1/hotels?lat=38.0235&lon=-122.095 → 400, `Please specify inDate/outDate params` in it
          ask      GET http://frontend-2.1/recommendations?require=dis&lat=38.0235&lon=-122.095 → 200, `FeatureCollection` in it
          ask      GET http://frontend-2.1/recommendations?require=rate&lat=38.0235&lon=-122.095 → 200, `"id":"39"` in it
          ask      GET http://frontend-2.1/recommendations?require=price&lat=38.0235&lon=-122.095 → 200, `"id":"2"` in it
          ask      GET http://frontend-2.1/recommendations?lat=38.0235&lon=-122.095 → 400, `Please specify require params` in it
          ask      POST http://frontend-2.1/user?username=Cornell_1&password=1111111111 → 200, `Login successfully!` in it
          ask      POST http://frontend-2.1/user?username=Cornell_1&password=no → 200, `Failed. Please check your username and password.` in it
          ask      POST http://frontend-2.1/reservation?inDate=2015-04-10&outDate=2015-04-12&hotelId=39&customerName=Cornell_1&username=Cornell_1&password=1111111111&number=1 → 200, `Reserve successfully!` in it
          ask      POST http://frontend-2.1/reservation?inDate=2015-04-10&outDate=2015-04-12&hotelId=39&customerName=Cornell_1&username=Cornell_1&password=1111111111&number=1000 → 200, `Failed. Already reserved.` in it
          ask      POST http://frontend-2.1/reservation?inDate=2015-04-10&outDate=2015-04-12&hotelId=39&customerName=Cornell_1&username=Cornell_1&password=no&number=1 → 200, `Failed. Please check your username and password.` in it
          ask      GET http://frontend-2.1/review?username=Cornell_1&password=1111111111&hotelId=1 → 200, `Have reviews = 4` in it
          ask      GET http://frontend-2.1/review?username=Cornell_1&password=1111111111&hotelId=80 → 200, `Failed. No Reviews.` in it
          ask      GET http://frontend-2.1/review?username=Cornell_1&password=1111111111 → 400, `Please specify hotelId params` in it
          ask      GET http://frontend-2.1/restaurants?username=Cornell_1&password=1111111111&hotelId=1 → 200, `Have restaurants = 5` in it
          ask      GET http://frontend-2.1/museums?username=Cornell_1&password=1111111111&hotelId=1 → 200, `Have museums = 5` in it
          ask      GET http://frontend-2.1/cinema?username=Cornell_1&password=1111111111&hotelId=1 → 200, `Failed. No Cinemas.` in it
          ask      GET http://frontend-2.1/metrics → 200, `hotel_` in it
          ask      POST http://frontend-1.1/reset → 200
          ask      POST http://frontend-2.1/reset → 200
          drive    benchwright load http://frontend-1.1 http://frontend-2.1 --address frontend-1.1,frontend-1.2 --address frontend-2.1,frontend-2.2 --closed --connections 64 --warm-up 1s --duration 2s --drain 500ms --timeout 10s --seed 221217432148139 --slo 'p99<=100ms,failures<=0.1%' --progress lines --json --per-target --script experiments/hotel-mixed.lua
          stop     everything
    "#]].assert_eq(&plan("hotel.yaml", None));
    expect![[r#"
        hotel-max-throughput · profile ci · local · roles: sut = CPU 0, load = CPU 1 · at most 20 trials, 17 s
        system    2 instances × (2 replicas of geo, rate, profile, recommendation, user, reservation, review, attractions, search, frontend + 1 of store): 42 processes
        load      per instance: 64 connections, Poisson arrivals, hotel-mixed.lua
        search    sweep per instance, from 70 % of what a closed loop completes in a short probe, step 20 %; stop: no new maximum (by more than 1 %) in 2 loads
        trial     reset → warm up 200 ms → measure 400 ms → drain ≤ 200 ms
        seed      6200346834173954307
        time      0.8 s per trial; 3 to 20 trials: 3.2 s to 17 s; usually 8 in 10 s; up to 2 min 0 s more if the machine is disturbed
    "#]].assert_eq(&fixed("hotel.yaml", "ci"));
    expect![[r#"
        hotel-max-throughput · profile guide_rule · local · roles: sut = CPU 0, load = CPU 1 · at most 45 trials, 4 min 30 s
        system    2 instances × (2 replicas of geo, rate, profile, recommendation, user, reservation, review, attractions, search, frontend + 1 of store): 42 processes
        load      per instance: 64 connections, Poisson arrivals, hotel-mixed.lua
        search    sweep per instance, from 70 % of what a closed loop completes in a short probe, step 5 %; stop: no new maximum in 6 loads
        trial     reset → warm up 1 s → measure 5 s → drain ≤ 500 ms
        seed      6200346834173954307
        time      6.5 s per trial; 7 to 45 trials: 49 s to 4 min 30 s; usually 27 in 2 min 58 s; up to 3 min 0 s more if the machine is disturbed
    "#]].assert_eq(&fixed("hotel.yaml", "guide_rule"));
    expect![[r#"
        hotel-all-in-one · local · roles: sut = CPU 0, load = CPU 1 · at most 30 trials, 3 min 34 s
        system    hotel ×1 · hotel may use 0.2 CPUs
        load      64 connections, Poisson arrivals, hotel-mixed.lua
        search    sweep from 80 % of what a closed loop completes in a short probe, step 5 %; stop: no new maximum (by more than 1 %) in 6 loads
        trial     reset → warm up 1 s → measure 5 s → drain ≤ 1 s
        seed      15145020614165038492
        time      7 s per trial; 7 to 30 trials: 53 s to 3 min 34 s; usually 20 in 2 min 15 s; up to 3 min 0 s more if the machine is disturbed
        first, to find the first load:
          start    hotel: benchwright app hotel all-in-one --listen 127.0.0.1:0 · at most 0.2 CPUs · ready within 30 s
          ask      GET http://hotel/healthz → 200
          ask      GET http://hotel/healthz → 200, `ok` in it
          ask      GET http://hotel/hotels?inDate=2015-04-09&outDate=2015-04-10&lat=38.0235&lon=-122.095 → 200, `"id":"39"` in it
          ask      GET http://hotel/hotels?inDate=2015-04-09&outDate=2015-04-10&lat=10&lon=10 → 200, `"features":[]` in it
          ask      GET http://hotel/hotels?lat=38.0235&lon=-122.095 → 400, `Please specify inDate/outDate params` in it
          ask      GET http://hotel/recommendations?require=dis&lat=38.0235&lon=-122.095 → 200, `FeatureCollection` in it
          ask      GET http://hotel/recommendations?require=rate&lat=38.0235&lon=-122.095 → 200, `"id":"39"` in it
          ask      GET http://hotel/recommendations?require=price&lat=38.0235&lon=-122.095 → 200, `"id":"2"` in it
          ask      GET http://hotel/recommendations?lat=38.0235&lon=-122.095 → 400, `Please specify require params` in it
          ask      POST http://hotel/user?username=Cornell_1&password=1111111111 → 200, `Login successfully!` in it
          ask      POST http://hotel/user?username=Cornell_1&password=no → 200, `Failed. Please check your username and password.` in it
          ask      POST http://hotel/reservation?inDate=2015-04-10&outDate=2015-04-12&hotelId=39&customerName=Cornell_1&username=Cornell_1&password=1111111111&number=1 → 200, `Reserve successfully!` in it
          ask      POST http://hotel/reservation?inDate=2015-04-10&outDate=2015-04-12&hotelId=39&customerName=Cornell_1&username=Cornell_1&password=1111111111&number=1000 → 200, `Failed. Already reserved.` in it
          ask      POST http://hotel/reservation?inDate=2015-04-10&outDate=2015-04-12&hotelId=39&customerName=Cornell_1&username=Cornell_1&password=no&number=1 → 200, `Failed. Please check your username and password.` in it
          ask      GET http://hotel/review?username=Cornell_1&password=1111111111&hotelId=1 → 200, `Have reviews = 4` in it
          ask      GET http://hotel/review?username=Cornell_1&password=1111111111&hotelId=80 → 200, `Failed. No Reviews.` in it
          ask      GET http://hotel/review?username=Cornell_1&password=1111111111 → 400, `Please specify hotelId params` in it
          ask      GET http://hotel/restaurants?username=Cornell_1&password=1111111111&hotelId=1 → 200, `Have restaurants = 5` in it
          ask      GET http://hotel/museums?username=Cornell_1&password=1111111111&hotelId=1 → 200, `Have museums = 5` in it
          ask      GET http://hotel/cinema?username=Cornell_1&password=1111111111&hotelId=1 → 200, `Failed. No Cinemas.` in it
          ask      GET http://hotel/metrics → 200, `hotel_` in it
          ask      POST http://hotel/reset → 200
          drive    benchwright load http://hotel --closed --connections 64 --warm-up 1s --duration 2s --drain 1s --timeout 10s --seed 4860157389481002 --slo 'p99<=100ms,failures<=0.1%' --progress lines --json --script experiments/hotel-mixed.lua
          stop     everything
    "#]].assert_eq(&plan("hotel-all-in-one.yaml", None));
    expect![[r#"
        hotel-all-in-one · profile ci · local · roles: sut = CPU 0, load = CPU 1 · at most 20 trials, 17 s
        system    hotel ×1 · hotel may use 0.2 CPUs
        load      64 connections, Poisson arrivals, hotel-mixed.lua
        search    sweep from 80 % of what a closed loop completes in a short probe, step 20 %; stop: no new maximum (by more than 1 %) in 2 loads
        trial     reset → warm up 200 ms → measure 400 ms → drain ≤ 200 ms
        seed      15145020614165038492
        time      0.8 s per trial; 3 to 20 trials: 3.2 s to 17 s; usually 7 in 7.1 s; up to 3 min 0 s more if the machine is disturbed
    "#]].assert_eq(&fixed("hotel-all-in-one.yaml", "ci"));
    expect![[r#"
        hotel-all-in-one · profile guide_rule · local · roles: sut = CPU 0, load = CPU 1 · at most 30 trials, 3 min 34 s
        system    hotel ×1 · hotel may use 0.2 CPUs
        load      64 connections, Poisson arrivals, hotel-mixed.lua
        search    sweep from 80 % of what a closed loop completes in a short probe, step 5 %; stop: no new maximum in 6 loads
        trial     reset → warm up 1 s → measure 5 s → drain ≤ 1 s
        seed      15145020614165038492
        time      7 s per trial; 7 to 30 trials: 53 s to 3 min 34 s; usually 23 in 2 min 37 s; up to 3 min 0 s more if the machine is disturbed
    "#]].assert_eq(&fixed("hotel-all-in-one.yaml", "guide_rule"));
    expect![[r#"
        users-scaling · local · roles: sut = CPU 0, load = CPU 1 · 4 searches · at most 160 trials, 12 min 0 s
        factor    replicas: 1, 2, 3, 4
        system    store + users + balancer ×1 · users may use 0.15 CPUs
        load      64 connections, Poisson arrivals, users-login.lua
        search    capacity: adaptive from 70 % of what a closed loop completes in a short probe: outward by × 1.25 and more until it is enclosed, then bisected to 6 %; one pass or the first to 2 decides; the bounds need 2 passes or 4 failures
        trial     warm up 1 s → measure 5 s → drain ≤ 500 ms
        order     one trial of each search in turn; 4 combinations of levels × 1 = 4 searches
        seed      4257013263878551115
        time      6.5 s per trial; 32 to 160 trials: 3 min 42 s to 12 min 0 s; usually 52 in 4 min 25 s; up to 90 s more if the machine is disturbed
            1  replicas=1 · capacity  8 to 40 trials, 56 s to 4 min 24 s, seed 4220342946718270
            2  replicas=2 · capacity  8 to 40 trials, 56 s to 4 min 24 s, seed 41831792671136
            3  replicas=3 · capacity  8 to 40 trials, 56 s to 4 min 24 s, seed 4301301800403005
            4  replicas=4 · capacity  8 to 40 trials, 56 s to 4 min 24 s, seed 5473442904728945
        first, to find the first load:
          start    store: benchwright app users store --listen 127.0.0.1:0 · ready within 30 s
          start    users: BENCHWRIGHT_USERS_SECRET='placeholder for benchmarks, of 32 bytes or more' benchwright app users --cost 4 --hashing-threads 1 --overload refuse --queue 64 --store store --listen 127.0.0.1:0 · at most 0.15 CPUs · ready within 30 s
          start    balancer: benchwright app balancer --backends users --probe-every 1s --probe-timeout 1s --listen 127.0.0.1:0 · ready within 30 s
          ask      GET http://balancer/balancer/ready?replicas=1 → 200
          ask      POST http://balancer/auth/register {"username":"manuandru","password":"12341234"} → 200, `{"username":"manuandru"}`
          ask      POST http://balancer/auth/register {"username":"manuandru","password":"12341234"} → 409, `{"username":"manuandru"}`
          ask      GET http://balancer/health/readiness → 200 or 307
          ask      POST http://balancer/auth/login {"username":"manuandru","password":"12341234"} → 200, `"username":"manuandru","access_token":"` in it
          ask      POST http://balancer/auth/login {"username":"manuandru","password":"wrong"} → 401, `Credentials Do Not Match` in it
          ask      POST http://balancer/auth/login {"username":"nobody","password":"12341234"} → 401, `User Not Found` in it
          ask      GET http://balancer/whoami → 200, `{"username":"manuandru"}`
          ask      GET http://balancer/whoami → 401
          ask      GET http://balancer/balancer/metrics → 200, `balancer_replica_ready` in it
          drive    benchwright load http://balancer/auth/login --closed --connections 64 --warm-up 1s --duration 2s --drain 500ms --timeout 10s --seed 5794879418970433 --slo 'p99<=500ms,failures<=0.1%' --progress lines --json --script experiments/users-login.lua
          stop     everything
    "#]].assert_eq(&plan("users.yaml", None));
    expect![[r#"
        users-scaling · profile ci · local · roles: sut = CPU 0, load = CPU 1 · 2 searches · at most 12 trials, 11 s
        factor    replicas: 1, 2
        system    store + users + balancer ×1 · users may use 0.15 CPUs
        load      64 connections, Poisson arrivals, users-login.lua
        search    capacity: sweep from 70 % of what a closed loop completes in a short probe, step 40 %; stop: the SLO was missed
        trial     warm up 200 ms → measure 400 ms → drain ≤ 200 ms
        order     one trial of each search in turn; 2 combinations of levels × 1 = 2 searches
        seed      4257013263878551115
        time      0.8 s per trial; 2 to 12 trials: 3.2 s to 11 s; usually 6 in 8.7 s; up to 2 min 0 s more if the machine is disturbed
            1  replicas=1 · capacity  1 to 6 trials, 1.6 s to 5.6 s, seed 4220342946718270
            2  replicas=2 · capacity  1 to 6 trials, 1.6 s to 5.6 s, seed 41831792671136
    "#]].assert_eq(&fixed("users.yaml", "ci"));
    expect![[r#"
        users-scaling · profile guide · local · roles: sut = CPU 0, load = CPU 1 · 6 searches · at most 18 trials, 33 min 0 s
        factor    replicas: 1, 2, 3, 4, 6, 10
        system    store + users + balancer ×1 · users may use 1 CPUs and 2GiB
        load      150 connections, 10 script threads, closed loop, users-login.lua
        search    none: one load
        trial     warm up 0 s → measure 60 s → drain ≤ 20 s · 3 at each load
        order     one search after the other, as listed; 6 combinations of levels × 1 = 6 searches
        seed      4257013263878551115
        time      110 s per trial; 18 trials: 33 min 0 s; usually 39 min 35 s; up to 30 min 0 s more if the machine is disturbed
            1  replicas=1   3 trials, 5 min 30 s, seed 2139502197789531
            2  replicas=2   3 trials, 5 min 30 s, seed 285795526769896
            3  replicas=3   3 trials, 5 min 30 s, seed 2793657783226033
            4  replicas=4   3 trials, 5 min 30 s, seed 3756349799050622
            5  replicas=6   3 trials, 5 min 30 s, seed 6247720681722505
            6  replicas=10  3 trials, 5 min 30 s, seed 7115760829152175
        the "#]].assert_eq(&fixed("users.yaml", "guide"));
    expect![[r#"
        social-max-rps · local · roles: sut = CPU 0, load = CPU 1 · at most 40 trials, 4 min 20 s
        system    store + post-storage + user + social-graph + home-timeline + user-timeline + url-shorten + user-mention + text + media + unique-id + compose-post + front ×1
        load      0.1 connections for each request/s (at least 2), 2 script threads, Poisson arrivals, social-home.lua
        search    adaptive from 4,000/s: outward by × 1.25 and more until it is enclosed, then bisected to 2 %; one pass or the first to 2 decides; the bounds need 2 passes or 4 failures
        trial     reset → warm up 1 s → measure 5 s → drain ≤ 500 ms
        seed      1544485760978585903
        time      6.5 s per trial; 10 to 40 trials: 65 s to 4 min 20 s; usually 22 in 107 s; up to 2 min 30 s more if the machine is disturbed
        the first trial:
          start    store: benchwright app social store --max-timeline 10000 --listen 127.0.0.1:0 · ready within 30 s
          start    media: benchwright app social media --listen 127.0.0.1:0 · ready within 30 s
          start    unique-id: benchwright app social unique-id --listen 127.0.0.1:0 · ready within 30 s
          start    post-storage: benchwright app social post-storage --store store --listen 127.0.0.1:0 · ready within 30 s
          start    user: benchwright app social user --store store --password-hash salted-sha256 --listen 127.0.0.1:0 · ready within 30 s
          start    url-shorten: benchwright app social url-shorten --store store --listen 127.0.0.1:0 · ready within 30 s
          start    user-mention: benchwright app social user-mention --store store --listen 127.0.0.1:0 · ready within 30 s
          start    social-graph: benchwright app social social-graph --store store --user user --listen 127.0.0.1:0 · ready within 30 s
          start    user-timeline: benchwright app social user-timeline --store store --post-storage post-storage --listen 127.0.0.1:0 · ready within 30 s
          start    text: benchwright app social text --url-shorten url-shorten --user-mention user-mention --listen 127.0.0.1:0 · ready within 30 s
          start    home-timeline: benchwright app social home-timeline --store store --post-storage post-storage --social-graph social-graph --listen 127.0.0.1:0 · ready within 30 s
          start    compose-post: benchwright app social compose-post --text text --user user --media media --unique-id unique-id --post-storage post-storage --user-timeline user-timeline --home-timeline home-timeline --listen 127.0.0.1:0 · ready within 30 s
          start    front: benchwright app social front --user user --social-graph social-graph --compose-post compose-post --user-timeline user-timeline --home-timeline home-timeline --store store --listen 127.0.0.1:0 · ready within 30 s
          ask      GET http://front/healthz → 200
          run      benchwright app social init --address front --graph generated:962x37624 --compose 110 --max-timeline 10000 → `105820 verified` in its output
          ask      POST http://front/snapshot → 200
          ask      GET http://front/counts → 200, `"follows":37624,` in it
          ask      GET http://front/counts → 200, `"posts":105820,` in it
          ask      GET http://front/healthz → 200, `ok` in it
          ask      GET http://front/wrk2-api/home-timeline/read?user_id=1&start=0&stop=10 → 200, `"post_id":"` in it
          ask      GET http://front/wrk2-api/home-timeline/read?user_id=1&start=10&stop=10 → 200, `{}`
          ask      GET http://front/wrk2-api/home-timeline/read?user_id=962&start=0&stop=10 → 200, `{}`
          ask      GET http://front/wrk2-api/home-timeline/read?user_id=1&start=0 → 400, `Incomplete arguments` in it
          ask      GET http://front/wrk2-api/user-timeline/read?user_id=1&start=0&stop=10 → 200, `"username":"username_1"` in it
          ask      GET http://front/metrics → 200, `social_home_pages_total` in it
          ask      POST http://front/reset → 200, `"posts":105820,` in it
          drive    benchwright load http://front --rate 4000/s --arrivals poisson --connections 400 --warm-up 1s --duration 5s --drain 500ms --timeout 10s --seed 4065315651470207 --slo 'p99<=100ms,failures<=0.1%' --until-missed --progress lines --json --script-threads 2 --script experiments/social-home.lua -- 962
          stop     everything
    "#]].assert_eq(&plan("social.yaml", None));
    expect![[r#"
        social-max-rps · profile ci · local · roles: sut = CPU 0, load = CPU 1 · at most 3 trials, 2.4 s
        system    store + post-storage + user + social-graph + home-timeline + user-timeline + url-shorten + user-mention + text + media + unique-id + compose-post + front ×1
        load      0.1 connections for each request/s (at least 2), 2 script threads, Poisson arrivals, social-home.lua
        search    sweep from 50.0/s to 200/s, step 100 %: 50.0/s, 100/s, 200/s
        trial     reset → warm up 200 ms → measure 400 ms → drain ≤ 200 ms
        seed      1544485760978585903
        time      0.8 s per trial; 3 trials: 2.4 s; usually 3.3 s; up to 2 min 0 s more if the machine is disturbed
        the "#]].assert_eq(&fixed("social.yaml", "ci"));
    expect![[r#"
        social-max-rps · profile guide_rule · local · roles: sut = CPU 0, load = CPU 1 · at most 40 trials, 4 min 20 s
        system    store + post-storage + user + social-graph + home-timeline + user-timeline + url-shorten + user-mention + text + media + unique-id + compose-post + front ×1
        load      0.1 connections for each request/s (at least 2), 2 script threads, Poisson arrivals, social-home.lua
        search    sweep from 2,000/s, step 250/s; stop: the SLO was missed
        trial     reset → warm up 1 s → measure 5 s → drain ≤ 500 ms
        seed      1544485760978585903
        time      6.5 s per trial; 1 to 40 trials: 6.5 s to 4 min 20 s; up to 2 min 30 s more if the machine is disturbed
        the "#]].assert_eq(&fixed("social.yaml", "guide_rule"));
    expect![[r#"
        social-max-rps · profile redis · local · roles: sut = CPU 0, load = CPU 1 · 2 searches · at most 80 trials, 8 min 40 s
        factor    redis_replicas: 0, 2
        system    redis + store + post-storage + user + social-graph + home-timeline + user-timeline + url-shorten + user-mention + text + media + unique-id + compose-post + front ×1
        load      0.1 connections for each request/s (at least 2), 2 script threads, Poisson arrivals, social-home.lua
        search    adaptive from 4,000/s: outward by × 1.25 and more until it is enclosed, then bisected to 2 %; one pass or the "#]].assert_eq(&fixed("social.yaml", "redis"));
    expect![[r#"
        social-max-rps · profile guide · local · roles: sut = CPU 0, load = CPU 1 · at most 30 trials, 35 min 30 s
        system    (18 replicas of post-storage, home-timeline + 6 replicas of redis-replica + 3 replicas of memcached, front + 1 of redis, store, user, social-graph, user-timeline, url-shorten, user-mention, text, media, unique-id, compose-post): 59 processes
        load      0.1 connections for each request/s (at least 100), 100 script threads, constant arrivals, social-home.lua
        search    sweep from 71,000/s to 100,000/s, step 1,000/s: 71,000/s, 72,000/s, … 100,000/s; stop: the SLO was missed
        trial     reset → warm up 10 s → measure 60 s → drain ≤ 1 s
        seed      1544485760978585903
        time      71 s per trial; 1 to 30 trials: 71 s to 35 min 30 s; usually 15 in 17 min 28 s; up to 20 min 0 s more if the machine is disturbed
        the "#]].assert_eq(&fixed("social.yaml", "guide"));
    expect![[r#"
        simulated · simulated · at most 30 trials, 3 min 34 s
        system    a simulated queue
        load      64 connections, Poisson arrivals, GET /
        search    sweep from 60 % of what a closed loop completes in a short probe, step 5 %; stop: no new maximum (by more than 1 %) in 6 loads
        trial     warm up 1 s → measure 5 s → drain ≤ 1 s
        seed      17285499004125085777
        time      7 s per trial; 7 to 30 trials: 53 s to 3 min 34 s; usually 20 in 2 min 8 s; up to 3 min 0 s more if the machine is disturbed
        first, to find the first load:
          drive    benchwright load http://queue.simulated/ --closed --connections 64 --warm-up 1s --duration 2s --drain 1s --timeout 10s --seed 5122804340250067 --slo 'p99<=10ms,failures<=0.1%' --progress lines --json
          stop     everything
    "#]].assert_eq(&plan("simulated.yaml", None));
    expect![[r#"
        simulated · profile ci · simulated · at most 30 trials, 19 s
        system    a simulated queue
        load      64 connections, Poisson arrivals, GET /
        search    sweep from 60 % of what a closed loop completes in a short probe, step 20 %; stop: no new maximum (by more than 1 %) in 2 loads
        trial     warm up 100 ms → measure 400 ms → drain ≤ 100 ms
        seed      17285499004125085777
        time      0.6 s per trial; 3 to 30 trials: 2.4 s to 19 s; usually 7 in 4.3 s; up to 3 min 0 s more if the machine is disturbed
    "#]].assert_eq(&fixed("simulated.yaml", "ci"));
    expect![[r#"
        kv-ycsb · local · roles: sut = CPU 0, load = CPU 1 · 4 searches · at most 400 trials, 6 min 0 s
        factor    servers: 1, 2, 3, 4
        system    kv ×1 · kv may use 0.1 CPUs
        load      8 connections, Poisson arrivals, YCSB's ycsb/workloadf
        search    capacity: adaptive from 70 % of what a closed loop completes in a short probe: outward by × 1.25 and more until it is enclosed, then bisected to 10 %; one pass or the first to 2 decides; the bounds need 2 passes or 4 failures
        trial     warm up 1 s → measure 3 s → drain ≤ 1 s
        order     one search after the other, as listed; 4 combinations of levels × 1 = 4 searches
        seed      1084647862440292914
        time      5 s per trial; 32 to 400 trials: 2 min 56 s to 6 min 0 s; usually 52 in 3 min 5 s; up to 90 s more if the machine is disturbed
            1  servers=1 · capacity  8 to 100 trials, 44 s to 6 min 0 s, seed 1320505942825784
            2  servers=2 · capacity  8 to 100 trials, 44 s to 6 min 0 s, seed 3556812775140144
            3  servers=3 · capacity  8 to 100 trials, 44 s to 6 min 0 s, seed 7553073527063521
            4  servers=4 · capacity  8 to 100 trials, 44 s to 6 min 0 s, seed 4888858456017050
        first, to find the first load:
          start    kv: benchwright kv serve --ip ${listen} --threads 1 --storage none --memory 256MiB --logs ${folder} --pin-irq 0 · at most 0.1 CPUs · ready within 30 s
          run      benchwright ycsb load kv -P ycsb/workloadf -p kv.servers=kv -p recordcount=100000 -p kv.keys=integer -p fieldcount=1 -p fieldlength=8 -threads 64 → `[INSERT], Return=OK, 100000` in its output
          run      benchwright ycsb run kv -P ycsb/workloadf -p kv.servers=kv -p recordcount=100000 -p kv.keys=integer -p fieldcount=1 -p fieldlength=8 -p requestdistribution=sequential -p readproportion=1 -p readmodifywriteproportion=0 -p operationcount=100000 -threads 64 → `[READ], Return=OK, 100000` in its output
          drive    benchwright load kv://kv --closed --connections 8 --warm-up 1s --duration 2s --drain 1s --timeout 10s --seed 401444578961624 --slo 'p99<=20ms,failures<=0.1%' --progress lines --json --pipeline 64 --ycsb experiments/ycsb/workloadf --ycsb-property fieldcount=1 --ycsb-property fieldlength=8 --ycsb-property kv.keys=integer --ycsb-property recordcount=100000 --ycsb-property requestdistribution=uniform
          stop     everything
    "#]].assert_eq(&plan("kv-ycsb.yaml", None));
    expect![[r#"
        kv-ycsb · profile guide · local · roles: sut = CPU 0, load = CPU 1 · 4 searches · at most 400 trials, 12 h 0 min
        factor    servers: 1, 2, 3, 4
        system    kv ×1 · kv may use 0.1 CPUs
        load      8 connections, Poisson arrivals, YCSB's ycsb/workloadf
        search    capacity: adaptive from 70 % of what a closed loop completes in a short probe: outward by × 1.25 and more until it is enclosed, then bisected to 10 %; one pass or the "#]].assert_eq(&fixed("kv-ycsb.yaml", "guide"));
    expect![[r#"
        kv-ycsb · profile pinned · local · roles: sut = CPU 0, load = CPU 1 · 2 searches · at most 12 trials, 60 s
        factor    softirqs: anywhere, pinned
        system    (2 replicas of kv): 2 processes · kv may use 0.1 CPUs
        load      8 connections, closed loop, YCSB's ycsb/workloadf
        search    none: one load
        trial     warm up 1 s → measure 3 s → drain ≤ 1 s · 6 at each load
        order     random blocks of 4 trials; 2 combinations of levels × 1 = 2 searches
        seed      1084647862440292914
        time      5 s per trial; 12 trials: 60 s; usually 54 s; up to 90 s more if the machine is disturbed
            1  softirqs=anywhere  6 trials, 30 s, seed 7467228354140081
            2  softirqs=pinned    6 trials, 30 s, seed 8618229615681703
        the "#]].assert_eq(&fixed("kv-ycsb.yaml", "pinned"));
}
