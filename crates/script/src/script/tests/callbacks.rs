//! Tests of the callbacks that a script gets while the load runs.

use expect_test::{Expect as Golden, expect};
use load::Fault;
use load::driver::http1::{Http1, HttpWorkload, Wanted};
use load::driver::{Asked, Driver, Label, Outcome, Reports, Session, Slot, Token};
use measure::Nanos;

use crate::machine::Callbacks;
use crate::support::{Setting, answer, bytes, exchange, path, script, text, try_request};
use crate::{Compatibility, Script};

const OK: &str = "HTTP/1.1 200 OK\nContent-Length: 0";

#[test]
fn a_token_of_an_answer_is_used_in_later_requests() {
    let mut script = script(
        r#"
            local path = "/authenticate"
            request = function() return wrk.format("GET", path) end
            response = function(status, headers)
                if status == 200 and headers["X-Token"] then
                    path, wrk.headers["X-Token"] = "/resource", headers["X-Token"]
                end
            end
        "#,
    );
    let refused = "HTTP/1.1 401 No\nX-Token: wrong";
    assert!(exchange(&mut script, refused, "").starts_with("GET /authenticate "));
    let granted = "HTTP/1.1 200 OK\nX-Token: t0k3n";
    assert!(exchange(&mut script, granted, "").starts_with("GET /authenticate "));
    let request = text(&mut script);
    assert!(request.starts_with("GET /resource ") && request.contains("\nX-Token: t0k3n\n"));
}

#[test]
fn response_gets_the_status_the_headers_as_received_and_the_body() {
    let mut script = script(
        r#"
            request = function() return wrk.format() end
            response = function(...)
                local status, headers, body = ...
                assert(select('#', ...) == 3 and status == 503 and body == "a\0b")
                assert(headers["x-Mixed"] == "two words" and headers["X-Mixed"] == nil)
                assert(headers["Same"] == "last" and headers["Empty"] == "")
                wrk.path = "/seen"
            end
        "#,
    );
    assert_eq!(script.wanted(0, 0), Wanted::Body);
    let head = "HTTP/1.1 503 Busy\nx-Mixed: two words\nSame: first\nSame: last\nEmpty:";
    let (_, expected) = try_request(&mut script, 0).unwrap();
    let outcome = answer(&mut script, 0, expected[0], head, "a\0b").unwrap();
    assert_eq!(outcome, Outcome::Status);
    assert_eq!(path(&mut script), "/seen");
}

#[test]
fn answers_are_kept_only_while_response_is_a_function() {
    let source = "request = function() return wrk.format() end
                  late = function() response = nil end
                  response = function() response = late end";
    let mut script = script(source);
    assert_eq!(script.wanted(0, 0), Wanted::Body);
    exchange(&mut script, OK, "");
    assert_eq!(script.wanted(0, 0), Wanted::Body);
    exchange(&mut script, OK, "");
    assert_eq!(script.wanted(0, 0), Wanted::Nothing);
    exchange(&mut script, OK, "");
    let later = "request = function() response = function() end return wrk.format() end";
    assert_eq!(self::script(later).wanted(0, 0), Wanted::Body, "it was called once before");
    assert_eq!(self::script("response = 7").wanted(0, 0), Wanted::Nothing);
}

#[test]
fn an_answer_that_began_unwanted_is_not_reported_in_part() {
    let script = script(
        "local n = 0
         request = function()
            n = n + 1
            if n == 3 then
                response = function(_, headers, body) wrk.path = '/' .. headers.A .. body end
            end
            return wrk.format()
         end",
    );
    let (mut driver, mut reports) = (Http1::new(2, script), Reports::default());
    let mut sent = Reports::default();
    let mut ask = |driver: &mut Http1<Script>, slot, number| {
        sent.wire.clear();
        let asked = Asked {
            token: Token(number as u32),
            number,
            label: Label::NONE,
            session: Session::NONE,
            again: false,
        };
        driver.start(Slot(slot), asked, &mut sent).unwrap();
        String::from_utf8(sent.wire.clone()).unwrap()
    };
    let (first, second) = ("HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 4\r\n\r\nto", "ld");
    ask(&mut driver, 0, 0);
    driver.receive(Slot(0), first.as_bytes(), &mut reports).unwrap();
    ask(&mut driver, 1, 1);
    driver.receive(Slot(0), second.as_bytes(), &mut reports).unwrap();
    assert!(ask(&mut driver, 0, 2).starts_with("GET /index.html?a=b "), "nothing was reported");
    for part in [first, second] {
        driver.receive(Slot(1), part.as_bytes(), &mut reports).unwrap();
        driver.receive(Slot(0), part.as_bytes(), &mut reports).unwrap();
    }
    assert_eq!(reports.done.len(), 3);
    assert!(ask(&mut driver, 0, 3).starts_with("GET /btold "));
}

#[test]
fn a_script_without_request_may_have_response() {
    let mut script =
        script("local n = 0; function response() n = n + 1; assert(n < 3, 'third') end");
    assert!(script.is_scripted());
    exchange(&mut script, OK, "");
    exchange(&mut script, OK, "");
    let (_, expected) = try_request(&mut script, 0).unwrap();
    let Fault(what) = answer(&mut script, 0, expected[0], OK, "").unwrap_err();
    assert_eq!(what, "scripts/mine.lua:1: third");
}

#[test]
fn the_second_result_of_request_comes_back_with_its_answer() {
    let mut script = script(
        r#"
            local n = 0
            request = function()
                n = n + 1
                return wrk.format(), n % 2 == 0 and { number = n } or nil
            end
            response = function(status, headers, body, context)
                wrk.headers["Seen"] = tostring(context and context.number)
            end
        "#,
    );
    // The call before the load was the first.
    let (_, second) = try_request(&mut script, 0).unwrap();
    let (_, third) = try_request(&mut script, 1).unwrap();
    let (_, fourth) = try_request(&mut script, 2).unwrap();
    let mut seen = |expected| {
        answer(&mut script, 0, expected, OK, "").unwrap();
        let request = text(&mut script);
        request.lines().find_map(|line| line.strip_prefix("Seen: ")).unwrap().to_owned()
    };
    assert_eq!(seen(fourth[0]), "4");
    assert_eq!(seen(third[0]), "nil");
    assert_eq!(seen(second[0]), "2");
}

#[test]
fn requests_that_leave_together_share_a_context_and_then_it_is_forgotten() {
    let mut script = script(
        r#"
            local kept = setmetatable({}, { __mode = "k" })
            request = function()
                collectgarbage()
                local count = 0
                for _ in pairs(kept) do count = count + 1 end
                wrk.headers["Kept"] = count
                local context = { "mine" }
                kept[context] = true
                return wrk.format() .. wrk.format(), context
            end
            response = function(_, _, _, context) assert(context[1] == "mine") end
        "#,
    );
    let mut kept = 0;
    for _ in 0..100 {
        let request = exchange(&mut script, OK, "");
        let line = request.lines().find_map(|line| line.strip_prefix("Kept: ")).unwrap();
        kept = kept.max(line.parse::<u32>().unwrap());
    }
    assert_eq!(kept, 0, "contexts of answers that came");
}

#[test]
fn contexts_are_forgotten_when_response_is_gone_meanwhile() {
    let mut script = script(
        "request = function() return wrk.format(), 'context' end
         response = function() response = nil end",
    );
    let (_, first) = try_request(&mut script, 0).unwrap();
    let (_, second) = try_request(&mut script, 0).unwrap();
    answer(&mut script, 0, first[0], OK, "").unwrap();
    assert_eq!(script.wanted(0, 0), Wanted::Head, "the second answer ends its context");
    answer(&mut script, 0, second[0], OK, "").unwrap();
    assert_eq!(script.wanted(0, 0), Wanted::Nothing);
    assert_eq!(try_request(&mut script, 0).unwrap().1[0].tag, 0, "no callback uses contexts now");
}

#[test]
fn failed_learns_what_happened_to_which_request() {
    let mut script = script(
        r#"
            local n = 0
            request = function() n = n + 1; return wrk.format(), n end
            failed = function(kind, context) wrk.path = "/" .. kind .. "/" .. context end
        "#,
    );
    let (_, two) = try_request(&mut script, 0).unwrap();
    let (_, three) = try_request(&mut script, 0).unwrap();
    assert_eq!(script.wanted(0, 0), Wanted::Head, "an answer ends a context");
    script.failed(Outcome::Timeout, three[0].tag).unwrap();
    assert_eq!(path(&mut script), "/timeout/3");
    script.failed(Outcome::Reset, two[0].tag).unwrap();
    assert_eq!(path(&mut script), "/reset/2");
}

#[test]
fn the_connection_is_known_in_both_callbacks() {
    let mut script = script(
        r#"
            request = function() return wrk.format(nil, "/" .. wrk.connection) end
            response = function() wrk.headers["Answered"] = wrk.connection end
        "#,
    );
    let (wire, expected) = try_request(&mut script, 6).unwrap();
    assert!(wire.starts_with(b"GET /7 "));
    answer(&mut script, 2, expected[0], OK, "").unwrap();
    assert!(text(&mut script).contains("\nAnswered: 3\n"));
}

const COUNTING: &str =
    "n = -1; function request() n = n + 1; return wrk.format(nil, '/' .. n) end\n";

#[test]
fn requests_are_made_ahead_and_sent_in_order() {
    let mut script = script(COUNTING);
    assert_eq!(path(&mut script), "/1");
    for _ in 0..64 {
        assert!(script.prepare().unwrap());
    }
    assert!(script.ahead.is_full());
    // The only work left is garbage collection.
    while script.prepare().unwrap() {}
    let paths: Vec<String> = (0..70).map(|_| path(&mut script)).collect();
    assert_eq!(paths, (2..72).map(|n| format!("/{n}")).collect::<Vec<_>>());
    assert!(script.prepare().unwrap());
}

#[test]
fn few_large_requests_are_made_ahead() {
    let mut script = script(
        "local body = ('x'):rep(400000)
        request = function() return wrk.format('POST', '/', {}, body) end",
    );
    let ahead = (0..64).take_while(|_| script.prepare().unwrap() && !script.ahead.is_full());
    assert_eq!(ahead.count(), 2, "the third fills a MiB");
}

#[test]
fn what_depends_on_the_moment_is_never_made_ahead() {
    let looks_ahead = |compatibility, addition: &str| {
        let source = format!("{COUNTING}{addition}");
        let mut script = Setting::of(compatibility).script(&source).unwrap();
        script.prepare().unwrap();
        !script.ahead.is_empty()
    };
    assert!(looks_ahead(Compatibility::Native, ""));
    assert!(!looks_ahead(Compatibility::Native, "function response() end"));
    assert!(!looks_ahead(Compatibility::Native, "function failed() end"));
    assert!(looks_ahead(Compatibility::Native, "function delay() return 1 end"), "it is ignored");
    assert!(!looks_ahead(Compatibility::Wrk, "function delay() return 1 end"));
    assert!(!looks_ahead(Compatibility::Native, "-- may read wrk.connection some day"));
    let hidden = "local mine = request; function request() \
                  assert(wrk['connec' .. 'tion'] == 1) return mine() end";
    assert!(!looks_ahead(Compatibility::Native, hidden), "it has read it");
}

#[test]
fn a_script_that_starts_to_use_answers_is_no_longer_called_ahead() {
    let mut script = script(
        "n = 0; function request() n = n + 1
         if n == 4 then function response() end end return wrk.format(nil, '/' .. n) end",
    );
    while script.callbacks() == Callbacks::NONE {
        assert!(script.prepare().unwrap());
    }
    script.prepare().unwrap();
    assert_eq!(script.wanted(0, 0), Wanted::Body);
    assert_eq!(path(&mut script), "/2");
    assert_eq!(path(&mut script), "/3");
    assert_eq!(path(&mut script), "/4");
    assert!(script.ahead.is_empty());
}

#[test]
fn garbage_is_collected_while_nothing_is_due() {
    let mut script = script(
        "local used = {}
         for i = 1, 20000 do used[i] = ('x'):rep(100) .. i end
         collectgarbage()
         function response() garbage = ('x'):rep(1000) .. tostring({}) end",
    );
    let idle = |script: &mut Script| while script.prepare().unwrap() {};
    idle(&mut script);
    let least = script.machine.used_memory();
    let mut most = 0;
    for _ in 0..10_000 {
        exchange(&mut script, OK, "");
        most = most.max(script.machine.used_memory());
        idle(&mut script);
    }
    // By itself LuaJIT would wait for twice as much.
    assert!(least < most && most < least + least / 4 * 3, "{least} to {most} bytes");
}

#[test]
fn delay_is_in_whole_milliseconds_and_for_wrk_only() {
    let delay = |compatibility, source: &str| {
        let mut script = Setting::of(compatibility).script(source).unwrap();
        script.delay().unwrap()
    };
    let of = |returned: &str| {
        delay(Compatibility::Wrk, &format!("function delay() return {returned} end"))
    };
    assert_eq!(of("10"), Nanos::from_millis(10));
    assert_eq!(of("49.99"), Nanos::from_millis(49));
    assert_eq!(of("'7'"), Nanos::from_millis(7));
    for nothing in ["-5", "0/0", "nil", "{}", ""] {
        assert_eq!(of(nothing), Nanos::ZERO, "{nothing}");
    }
    assert_eq!(of("1/0"), Nanos::from_millis(1_000_000_000));
    assert_eq!(delay(Compatibility::Wrk, "delay = 10"), Nanos::ZERO);
    for compatibility in [Compatibility::Native, Compatibility::Wrk2, Compatibility::Dsb] {
        assert_eq!(delay(compatibility, "function delay() error('never') end"), Nanos::ZERO);
    }
}

#[test]
fn delay_is_looked_up_at_each_call() {
    let setting = Setting::of(Compatibility::Wrk);
    let mut script = setting.script("function delay() delay = nil return 5 end").unwrap();
    assert_eq!(script.delay().unwrap(), Nanos::from_millis(5));
    assert_eq!(script.delay().unwrap(), Nanos::ZERO);
}

#[test]
fn an_ignored_delay_is_reported() {
    let notices = |compatibility, source| {
        Setting::of(compatibility).play(source).unwrap().0.notices().to_vec()
    };
    let source = "function delay() return 10 end";
    assert_eq!(notices(Compatibility::Wrk, source), [""; 0]);
    assert_eq!(notices(Compatibility::Wrk2, ""), [""; 0]);
    let told = ["the script's `delay` is ignored: the load decides when requests begin"];
    assert_eq!(notices(Compatibility::Wrk2, source), told);
    assert_eq!(notices(Compatibility::Native, source), told);
}

#[test]
fn a_thread_stops_itself_after_a_hundred_answers() {
    let source = "local n = 0
        function response() n = n + 1 if n == 100 then wrk.thread:stop() end end";
    let (_, mut scripts) = Setting { threads: 2, ..Setting::default() }.play(source).unwrap();
    for _ in 0..99 {
        exchange(&mut scripts[0], OK, "");
    }
    assert!(!scripts[0].has_stopped());
    exchange(&mut scripts[0], OK, "");
    assert!(scripts[0].has_stopped() && !scripts[1].has_stopped());
}

#[test]
fn what_was_made_ahead_of_a_stop_is_still_sent() {
    let mut script = script(
        "n = -1; function request() n = n + 1 if n == 3 then wrk.thread:stop() end
         return wrk.format(nil, '/' .. n) end",
    );
    while script.prepare().unwrap() {}
    let mut sent = Vec::new();
    while !script.has_stopped() {
        sent.push(path(&mut script));
    }
    assert_eq!(sent, ["/1", "/2", "/3"]);
}

#[test]
fn a_stop_before_the_load_has_no_effect() {
    let source = "function setup(thread) thread:stop() end function init() wrk.thread:stop() end";
    assert!(!script(source).has_stopped());
}

#[test]
fn an_error_in_each_callback_names_file_and_line() {
    check_callback(
        "function response()\n  local x = nil + 1\nend",
        |script| {
            let (_, expected) = try_request(script, 0).unwrap();
            answer(script, 0, expected[0], OK, "").map(drop)
        },
        expect!["scripts/mine.lua:2: attempt to perform arithmetic on a nil value"],
    );
    check_callback(
        "function failed(kind)\n  error('failed: ' .. kind)\nend",
        |script| script.failed(Outcome::Reset, 0),
        expect!["scripts/mine.lua:2: failed: reset"],
    );
    check_callback(
        "function delay()\n  error('no delay', 0)\nend",
        |script| script.delay().map(drop),
        expect!["scripts/mine.lua:2: no delay"],
    );
    check_callback(
        "local n = 0\nfunction request()\n  n = n + 1\n  if n == 1 then return wrk.format() end\n  \
         return nothing()\nend",
        |script| try_request(script, 0).map(drop),
        expect!["scripts/mine.lua:5: attempt to call global 'nothing' (a nil value)"],
    );
    check_callback(
        "local n = 0\nfunction request()\n  n = n + 1\n  if n == 1 then return wrk.format() end\n  \
         return 7\nend",
        |script| script.prepare().map(drop),
        expect![
            "scripts/mine.lua:2: `request` returned a number; it has to return a request, as a string"
        ],
    );
}

fn check_callback(
    source: &str,
    call: impl FnOnce(&mut Script) -> Result<(), Fault>,
    expected: Golden,
) {
    let mut script = Setting::of(Compatibility::Wrk).script(source).unwrap();
    let Fault(what) = call(&mut script).unwrap_err();
    expected.assert_eq(&what);
}

#[test]
fn a_script_can_move_between_threads() {
    let mut script = script(COUNTING);
    let first = bytes(&mut script);
    let second = std::thread::spawn(move || bytes(&mut script)).join().unwrap();
    assert_ne!(first, second);
}
