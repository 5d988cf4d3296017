use std::sync::Arc;

use expect_test::{Expect as Golden, expect};
use load::Fault;
use net::Address;

use super::{Compatibility, Seed, Target};
use crate::support::{Pretended, Setting, exchange, inet, path, target, text};
use crate::{Results, Script};

mod peers;

const OK: &str = "HTTP/1.1 200 OK";

#[test]
fn setup_runs_in_the_main_instance_and_init_in_each_thread() {
    let source = r#"
        local threads = 0
        function setup(thread)
            threads = threads + 1
            thread:set("id", threads)
        end
        function init() wrk.path = "/" .. id end
        function done() assert(threads == 3 and id == nil) end
    "#;
    let (script_set, mut scripts) =
        Setting { threads: 3, ..Setting::default() }.play(source).unwrap();
    assert_eq!(scripts.iter_mut().map(path).collect::<Vec<_>>(), ["/1", "/2", "/3"]);
    assert!(script_set.has_done(0).unwrap());
    script_set.done(0, &Results::default()).unwrap();
}

#[test]
fn done_sees_the_state_of_the_threads_wherever_they_ran() {
    let source = r#"
        local threads = {}
        function setup(thread) threads[#threads + 1] = thread end
        answers = 0
        function response() answers = answers + 1 end
        function done()
            for i, thread in ipairs(threads) do assert(thread:get("answers") == i * 10) end
            assert(#threads == 2 and answers == 0)
        end
    "#;
    let (script_set, scripts) = Setting { threads: 2, ..Setting::default() }.play(source).unwrap();
    let shards = (1..).zip(scripts).map(|(number, mut script)| {
        std::thread::spawn(move || {
            for _ in 0..number * 10 {
                exchange(&mut script, OK, "");
            }
        })
    });
    shards.collect::<Vec<_>>().into_iter().for_each(|shard| shard.join().unwrap());
    script_set.done(0, &Results::default()).unwrap();
}

#[test]
fn values_are_transferred_deeply_and_exactly() {
    let source = r#"
        local given = {
            text = "a\0b\255", number = -0.1, tiny = 1e-300, huge = 1e300, no = false,
            [1] = "one", [2.5] = { { { "deep" } } }, [true] = "yes", [{}] = "by a table",
        }
        function setup(thread)
            thread:set("given", given)
            thread:set("nothing", nil)
            thread:set("number", 0/0)
            local back = thread:get("given")
            assert(back ~= given and back.text == given.text and back[2.5][1][1][1] == "deep")
            assert(thread:get("nothing") == nil and thread:get("never") == nil)
            assert(thread:get("number") ~= thread:get("number"))
            given.text = "changed afterwards"
        end
        nothing = "something"
        function init()
            assert(given.text == "a\0b\255" and given.number == -0.1 and given.no == false)
            assert(given.tiny == 1e-300 and given.huge == 1e300 and given[1] == "one")
            assert(given[true] == "yes" and nothing == nil)
            local by_table
            for key, value in pairs(given) do if type(key) == "table" then by_table = value end end
            assert(by_table == "by a table")
            wrk.thread:set("mine", { 1, 2 })
            assert(mine[2] == 2 and wrk.thread:get("mine")[1] == 1)
        end
    "#;
    Setting::default().play(source).unwrap();
}

#[test]
fn a_value_that_cannot_be_transferred_is_reported_with_its_line() {
    let set = |value: &str| format!("function setup(thread)\n  thread:set('x', {value})\nend");
    check(&set("print"), expect!["scripts/mine.lua:2: cannot transfer 'function' to thread"]);
    check(
        &set("{ { coroutine.create(print) } }"),
        expect!["scripts/mine.lua:2: cannot transfer 'thread' to thread"],
    );
    check(
        &set("{ [io.stdout] = 1 }"),
        expect!["scripts/mine.lua:2: cannot transfer 'userdata' to thread"],
    );
    check(&set("1LL"), expect!["scripts/mine.lua:2: cannot transfer 'cdata' to thread"]);
    check(
        "local t = {}; t.t = { t }\nfunction setup(thread)\n  thread:set('t', t)\nend",
        expect!["scripts/mine.lua:3: cannot transfer a table that contains itself to thread"],
    );
    let nested = "local t = 1; for _ = 1, N do t = { t } end
        function setup(thread) thread:set('t', t) end";
    Setting::default().play(&nested.replace('N', "100")).unwrap();
    check(
        &nested.replace('N', "101"),
        expect!["scripts/mine.lua:2: cannot transfer tables nested deeper than 100 to thread"],
    );
    let shared = "local t = {}; for _ = 1, 90 do t = { t, t } end
        function setup(thread) thread:set('t', t) end";
    check(shared, expect!["scripts/mine.lua:2: cannot transfer so many values to thread"]);
    check(
        "x = print\nfunction setup(thread)\n  return thread:get('x')\nend",
        expect!["scripts/mine.lua:2: cannot transfer 'function' to thread"],
    );
    check(
        "function init()\n  wrk.thread:set('x', print)\nend",
        expect!["scripts/mine.lua:2: cannot transfer 'function' to thread"],
    );
}

#[test]
fn an_error_of_a_transfer_can_be_caught_as_text() {
    let source = r#"function setup(thread)
        local fine, what = pcall(thread.set, thread, "x", print)
        assert(not fine and what:find("cannot transfer 'function' to thread", 1, true), what)
    end"#;
    Setting::default().play(source).unwrap();
}

fn two_of_three() -> Setting {
    let addresses = vec![("127.0.0.1:5000", false), ("[::1]:5000", true), ("127.0.0.3:5000", true)];
    let network = Arc::new(Pretended { addresses, ..Pretended::default() });
    Setting { network, threads: 2, ..Setting::default() }
}

#[test]
fn threads_connect_to_the_first_address_that_accepts() {
    let source = r#"
        function setup(thread)
            assert(#wrk.addrs == 2 and tostring(wrk.addrs[1]) == "::1:5000")
            assert(tostring(thread.addr) == "::1:5000")
        end
        function init() assert(("to %s"):format(wrk.thread.addr) == "to ::1:5000") end
    "#;
    let (_, scripts) = two_of_three().play(source).unwrap();
    let addresses: Vec<Option<Address>> = scripts.iter().map(Script::address).collect();
    assert_eq!(addresses, [Some(inet("[::1]:5000")), Some(inet("[::1]:5000"))]);
    assert!(scripts.iter().all(|script| script.chosen_address().is_none()));
}

#[test]
fn a_script_gives_each_thread_an_address() {
    let source = r#"
        local addrs, n
        function setup(thread)
            if not addrs then
                addrs, n = wrk.lookup(wrk.host, wrk.port or "http"), 0
                for i = #addrs, 1, -1 do
                    if not wrk.connect(addrs[i]) then table.remove(addrs, i) end
                end
            end
            n = n + 1
            thread.addr = addrs[n]
        end
        function init() wrk.headers["To"] = tostring(wrk.thread.addr) end
    "#;
    let (_, mut scripts) = two_of_three().play(source).unwrap();
    let chosen: Vec<Option<Address>> = scripts.iter().map(Script::chosen_address).collect();
    assert_eq!(chosen, [Some(inet("[::1]:5000")), Some(inet("127.0.0.3:5000"))]);
    assert!(text(&mut scripts[1]).contains("\nTo: 127.0.0.3:5000\n"));
}

#[test]
fn a_thread_may_choose_in_init_and_a_script_may_find_addresses_its_own_way() {
    let source = r#"
        function wrk.resolve(host, service)
            wrk.addrs = { wrk.lookup(host, service)[3] }
        end
    "#;
    let (_, scripts) = two_of_three().play(source).unwrap();
    assert_eq!(scripts[1].chosen_address(), Some(inet("127.0.0.3:5000")));
    let source = "function init() wrk.thread.addr = wrk.lookup(wrk.host, 'http')[3] end";
    let (_, scripts) = two_of_three().play(source).unwrap();
    assert_eq!(scripts[0].address(), Some(inet("127.0.0.3:5000")));
}

#[test]
fn only_addr_can_be_set_and_only_to_an_address() {
    check(
        "function setup(thread)\n  thread.name = 'mine'\nend",
        expect!["scripts/mine.lua:2: cannot set 'name' on thread"],
    );
    check(
        "function setup(thread)\n  thread.addr = '127.0.0.1:80'\nend",
        expect!["scripts/mine.lua:2: an address of `wrk.lookup` is expected, not a string"],
    );
    check(
        "function setup(thread)\n  wrk.connect('127.0.0.1')\nend",
        expect!["scripts/mine.lua:2: an address of `wrk.lookup` is expected, not a string"],
    );
    check(
        "function setup(thread)\n  assert(thread.name == nil)\n  error(type(thread))\nend",
        expect!["scripts/mine.lua:3: userdata"],
    );
}

#[test]
fn a_target_without_an_address_that_accepts_ends_the_run() {
    let refusing = || {
        let addresses = vec![("127.0.0.1:5000", false)];
        Setting {
            network: Arc::new(Pretended { addresses, ..Pretended::default() }),
            ..Setting::default()
        }
    };
    let Fault(what) = refusing().play("").unwrap_err();
    assert_eq!(what, "unable to connect to localhost:5000 Connection refused");
    let unknown = Target { port: None, scheme: "gopher".to_owned(), ..target() };
    let Fault(what) = Setting { targets: vec![unknown], ..refusing() }.play("").unwrap_err();
    assert_eq!(what, "unable to resolve localhost:gopher Servname not supported for ai_socktype");
    let source = "local lookup = wrk.lookup\nfunction wrk.resolve()\n  lookup('mine', 'x')\nend";
    let Fault(what) = refusing().play(source).unwrap_err();
    assert_eq!(what, "unable to resolve mine:x Servname not supported for ai_socktype");
}

#[test]
fn a_script_logs_in_before_anything_is_measured() {
    let asked = Arc::default();
    let network = Arc::new(Pretended {
        addresses: vec![("127.0.0.1:5000", true)],
        answer: "HTTP/1.1 201 Created\nX-Token: secret\nContent-Length: 3\n\nyes",
        asked: Arc::clone(&asked),
    });
    let source = r#"
        function setup(thread)
            local status = wrk.fetch(wrk.format("GET", "/from-setup"))
            assert(status == 201)
        end
        function init()
            local status, headers, body = wrk.fetch(wrk.format("POST", "/login", {}, "me"))
            assert(status == 201 and body == "yes")
            wrk.headers["X-Token"] = headers["X-Token"]
        end
    "#;
    let mut script = Setting { network, ..Setting::default() }.script(source).unwrap();
    assert!(text(&mut script).contains("\nX-Token: secret\n"));
    let asked = String::from_utf8(asked.lock().unwrap().clone()).unwrap().replace("\r\n", "\n");
    expect![[r#"
        GET /from-setup HTTP/1.1
        Host: localhost:5000

        POST /login HTTP/1.1
        Content-Length: 2
        Host: localhost:5000

        me"#]]
    .assert_eq(&asked);
}

#[test]
fn fetch_is_for_setup_and_init_only() {
    let late = "local n = 0\nfunction request()\n  n = n + 1\n  \
                if n == 2 then wrk.fetch(wrk.format()) end\n  return wrk.format()\nend";
    let mut script = Setting::default().script(late).unwrap();
    let Fault(what) = crate::support::try_request(&mut script, 0).unwrap_err();
    expect!["scripts/mine.lua:4: `wrk.fetch` blocks: call it in `setup` and `init` only"]
        .assert_eq(&what);
    check(
        "wrk.fetch(wrk.format())",
        expect!["scripts/mine.lua:1: `wrk.fetch` has no address yet: call it in `setup` or `init`"],
    );
    check(
        "function init()\n  wrk.fetch(wrk.format())\nend",
        expect![
            "scripts/mine.lua:2: `wrk.fetch`: the connection closed before the answer was complete"
        ],
    );
}

#[test]
fn init_gets_the_url_and_the_arguments() {
    let source = r#"
        function init(args)
            assert(args[0] == "http://localhost:5000" and #args == 2 and args[3] == nil)
            wrk.path = "/" .. args[1] .. "/" .. args[2]
        end
    "#;
    let arguments = vec!["depth".to_owned(), "3".to_owned()];
    let mut script = Setting { arguments, ..Setting::default() }.script(source).unwrap();
    assert_eq!(path(&mut script), "/depth/3");
}

#[test]
fn each_target_has_a_main_instance_and_threads_of_its_own() {
    let source = r#"
        local threads = 0
        function setup(thread)
            threads = threads + 1
            thread:set("number", threads)
        end
        function init(args) wrk.path = "/" .. number .. "?" .. args[0] end
        function done(summary) assert(threads == 2 and summary.requests == wrk.port + 0) end
    "#;
    let targets: Vec<Target> = ["5000", "5001"]
        .map(|port| {
            let port = Some(port.to_owned());
            Target { url: format!("http://localhost:{}", port.as_ref().unwrap()), port, ..target() }
        })
        .into();
    let setting = |compatibility| Setting {
        targets: targets.clone(),
        threads: 2,
        ..Setting::of(compatibility)
    };
    let (script_set, mut scripts) = setting(Compatibility::Native).play(source).unwrap();
    let (first, second) = ("http://localhost:5000", "http://localhost:5001");
    assert_eq!(
        scripts.iter_mut().map(path).collect::<Vec<_>>(),
        [
            format!("/1?{first}"),
            format!("/2?{first}"),
            format!("/1?{second}"),
            format!("/2?{second}")
        ]
    );
    for (target, requests) in [(0, 5000), (1, 5001)] {
        let mut results = Results::default();
        results.summary.requests = requests;
        script_set.done(target, &results).unwrap();
    }
    let (_, mut scripts) = setting(Compatibility::Dsb).play(source).unwrap();
    assert_eq!(path(&mut scripts[2]), format!("/1?{first}"), "as in DeathStarBench");
}

#[test]
fn only_the_first_thread_of_all_is_called_beforehand() {
    let source = "n = -1; function request() n = n + 1 return wrk.format(nil, '/' .. n) end";
    let targets = vec![target(), target()];
    let (script_set, mut scripts) =
        Setting { targets, threads: 2, ..Setting::default() }.play(source).unwrap();
    assert_eq!(scripts.iter_mut().map(path).collect::<Vec<_>>(), ["/1", "/0", "/0", "/0"]);
    assert_eq!(path(&mut scripts[0]), "/2");
    assert_eq!(script_set.at_once(), 1);
}

#[test]
fn seeds_are_of_the_run_and_the_thread_unless_the_script_may_choose() {
    let draw = |seed, source: &str| -> Vec<String> {
        let (_, mut scripts) =
            Setting { seed, threads: 3, ..Setting::default() }.play(source).unwrap();
        scripts.iter_mut().map(path).collect()
    };
    let script = "function init() wrk.path = '/' .. math.random(1, 1e9) end";
    let own = "math.randomseed(7)\nfunction init() wrk.path = '/' .. math.random(1, 1e9) end";
    for seed in [Seed::Final, Seed::Initial] {
        let first = draw(seed(1), script);
        assert_eq!(first, draw(seed(1), script));
        let mut all = [first, draw(seed(2), script)].concat();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 6, "no two threads and no two runs are alike");
    }
    assert_eq!(draw(Seed::Final(1), own), draw(Seed::Final(1), script));
    let alike = draw(Seed::Initial(1), own);
    assert!(alike[0] == alike[1] && alike == draw(Seed::Initial(2), own));
}

#[test]
fn an_error_in_each_callback_outside_of_the_load_names_file_and_line() {
    check(
        "function setup(thread)\n  local x = thread.no.such\nend",
        expect!["scripts/mine.lua:2: attempt to index field 'no' (a nil value)"],
    );
    check("function setup()\n  error('no setup', 0)\nend", expect!["scripts/mine.lua:2: no setup"]);
    check(
        "\nfunction init(args)\n  return args.depth + 1\nend",
        expect!["scripts/mine.lua:3: attempt to perform arithmetic on field 'depth' (a nil value)"],
    );
    check("function init() error() end", expect!["scripts/mine.lua:1: nil"]);
    check(
        "wrk.lookup('localhost')",
        expect![
            "scripts/mine.lua:1: unable to resolve localhost:0 Servname not supported for ai_socktype"
        ],
    );
    let (script_set, _) = Setting::default().play("function done(s)\n  return s.x.y\nend").unwrap();
    let Fault(what) = script_set.done(0, &Results::default()).unwrap_err();
    expect!["scripts/mine.lua:2: attempt to index field 'x' (a nil value)"].assert_eq(&what);
}

#[test]
fn a_script_without_done_has_none() {
    let (script_set, _) = Setting::default().play("done = 0").unwrap();
    assert!(!script_set.has_done(0).unwrap());
    script_set.done(0, &Results::default()).unwrap();
}

#[test]
fn parts_of_wrk_may_be_replaced_as_in_wrk() {
    let source = r#"
        local theirs = wrk.init
        function wrk.init(args)
            wrk.headers["Host"] = "mine"
            theirs(args)
        end
        function wrk.setup(thread) thread:set("was_set_up", true) end
        function init() assert(was_set_up and wrk.thread.addr == nil) end
    "#;
    let mut script = Setting::default().script(source).unwrap();
    assert!(text(&mut script).contains("\nHost: mine\n"));
}

fn check(source: &str, expected: Golden) {
    let Fault(what) = Setting::of(Compatibility::Wrk)
        .with(Arc::new(Pretended {
            addresses: vec![("127.0.0.1:5000", true)],
            ..Pretended::default()
        }))
        .play(source)
        .unwrap_err();
    expected.assert_eq(&what);
}
