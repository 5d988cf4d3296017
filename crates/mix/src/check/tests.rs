use measure::Random;

use super::*;

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nServer: nginx\r\nX-Empty:\r\nVia: a\r\nvia:  b c \r\n\r\n";

/// Returns the outcome of a response with this status and body.
fn judge(rules: &str, status: u16, body: &str) -> Outcome {
    judge_pieces(rules, status, &[body.as_bytes()])
}

/// The same, for a body that arrives in these pieces.
fn judge_pieces(rules: &str, status: u16, pieces: &[&[u8]]) -> Outcome {
    let checks = Checks::parse(rules).unwrap_or_else(|wrong| panic!("{wrong}"));
    let mut search = Search::default();
    checks.begin(&mut search);
    pieces.iter().for_each(|piece| checks.look(&mut search, piece));
    assert!(search.tail.len() <= checks.overlap, "only a possible beginning of a text is kept");
    let body = pieces.concat();
    let body_length = body.len() as u64;
    let kept = if checks.wanted() == Wanted::Body { &body[..] } else { &[] };
    let answer = Response { status, head: HEAD, body: kept, body_length, connection: 0, tag: 0 };
    checks.judge(&answer, &search).0
}

/// Uses texts of two letters, so that the searched text occurs often, overlaps itself and lies
/// across cuts; a search in the whole body gives the expected result.
#[test]
fn a_text_is_found_however_the_body_is_cut() {
    let mut random = Random::new(5);
    let mut text = |most: u64| -> String {
        let length = random.below(most);
        (0..length).map(|_| if random.below(2) == 0 { 'a' } else { 'b' }).collect()
    };
    let mut cuts = Random::new(6);
    let mut met = [0; 2];
    for _ in 0..20_000 {
        let (one, other, body) = (text(6) + "a", text(3) + "b", text(14));
        let mut rest = body.as_bytes();
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(cuts.below(rest.len() as u64 + 1) as usize);
            pieces.push(piece);
            rest = behind;
        }
        let expected = body.contains(&one) && body.contains(&other);
        met[usize::from(expected)] += 1;
        let expected = if expected { Outcome::Ok } else { Outcome::Check };
        let rules = format!("body~{one} body~{other}");
        assert_eq!(judge_pieces(&rules, 200, &pieces), expected, "{rules} in {pieces:?}");
        let same = format!("body='{body}'");
        assert_eq!(judge_pieces(&same, 200, &pieces), Outcome::Ok, "{same} as {pieces:?}");
        let another = format!("body='{body}a'");
        assert_eq!(judge_pieces(&another, 200, &pieces), Outcome::Check, "{another}");
    }
    assert!(met.iter().all(|&count| 2_000 < count), "{met:?}");
}

#[test]
fn each_rule_accepts_the_right_responses_and_no_others() {
    let json = r#"{"a":{"b":[1,{"c":"x"},"q\"t"]},"n":1.0,"t":true,"z":null,"a/b~c":"s","":"e","d":1,"d":2}"#;
    for (rules, body, passes) in [
        ("body=hotel", "hotel", true),
        ("body=hotel", "hotels", false),
        ("body=", "", true),
        ("body=", "x", false),
        ("body~hotel", "a hotel b", true),
        ("body~hotel", "hote", false),
        ("body~'a b'", "xa bx", true),
        ("body~'a b'", "xab", false),
        (r#"body~{"ok":true}"#, r#"[{"ok":true}]"#, true),
        ("body~it's", "it's", true),
        ("bytes>=3", "abc", true),
        ("bytes>=3", "ab", false),
        ("bytes>=0", "", true),
        ("header:server=nginx", "", true),
        ("header:server=Nginx", "", false),
        ("header:via=a", "", true),
        ("header:VIA=\"b c\"", "", true),
        ("header:via=b", "", false),
        ("header:x-empty=", "", true),
        ("header:absent=", "", false),
        ("json:/a/b/0=1", json, true),
        ("json:/a/b/0=1.0", json, true),
        ("json:/a/b/0=2", json, false),
        ("json:/a/b/00=1", json, false),
        ("json:/a/b/-=1", json, false),
        ("json:/a/b/3=1", json, false),
        ("json:/a/b/1/c=x", json, true),
        ("json:/a/b/1/c=y", json, false),
        (r#"json:/a/b/2='q"t'"#, json, true),
        (r#"json:/a/b/1={"c":"x"}"#, json, true),
        ("json:/a/b/1={}", json, false),
        ("json:/a/b/1/c/d=x", json, false),
        ("json:/n=1", json, true),
        ("json:/n/x=1", json, false),
        ("json:/t=true", json, true),
        ("json:/t=false", json, false),
        ("json:/z=null", json, true),
        ("json:/t=null", json, false),
        ("json:/a~1b~0c=s", json, true),
        ("json:/=e", json, true),
        ("json:/d=2", json, true),
        ("json:/d=1", json, false),
        ("json:=5", "5", true),
        ("json:/a=1", r#"{"a":1"#, false),
        ("json:/a=1", r#"{"a":1} x"#, false),
        ("json:/a=1", "", false),
        ("body~a  bytes>=2 header:server=nginx", "ab", true),
        ("body~a bytes>=3 header:server=nginx", "ab", false),
        ("bytes>=2 body~x", "ab", false),
    ] {
        let expected = if passes { Outcome::Ok } else { Outcome::Check };
        assert_eq!(judge(rules, 200, body), expected, "{rules} on {body}");
    }
}

#[test]
fn an_unexpected_status_takes_precedence_over_other_rules() {
    for (rules, status, outcome) in [
        ("status=200", 200, Outcome::Ok),
        ("status=200", 204, Outcome::Status),
        ("status=404,2xx", 404, Outcome::Ok),
        ("status=404,2xx", 299, Outcome::Ok),
        ("status=404,2XX", 300, Outcome::Status),
        ("status=404 body~x", 404, Outcome::Ok),
        ("status=404 body~y", 404, Outcome::Check),
        ("body~y status=200", 404, Outcome::Status),
        ("body~x", 399, Outcome::Ok),
        ("body~x", 400, Outcome::Status),
        ("body~y", 400, Outcome::Status),
    ] {
        assert_eq!(judge(rules, status, "x"), outcome, "{rules} on {status}");
    }
}

#[test]
fn only_the_parts_that_the_rules_need_are_kept() {
    for (rules, wanted) in [
        ("status=200", Wanted::Head),
        ("bytes>=5 header:a=b", Wanted::Head),
        ("status=200 body=x", Wanted::Pieces),
        ("body~x bytes>=1", Wanted::Pieces),
        ("body~x json:/a=1", Wanted::Body),
    ] {
        assert_eq!(Checks::parse(rules).unwrap().wanted(), wanted, "{rules}");
    }
}

#[test]
fn an_invalid_rule_is_refused_with_the_remedy() {
    let the_rules = "the rules are status=200,2xx body=TEXT body~TEXT bytes>=N header:NAME=VALUE \
                     json:/POINTER=VALUE";
    let status = |text: &str| {
        format!("`{text}` is not a valid status; write for example status=200 or status=2xx,304")
    };
    for (rules, wrong) in [
        (" ", format!("a check has at least one rule; {the_rules}")),
        ("stauts=200 a=b", format!("`stauts=200` is not a rule; {the_rules}")),
        ("bytes>5", format!("`bytes>5` is not a rule; {the_rules}")),
        ("header:a b=c", format!("`header:a` is not a rule; {the_rules}")),
        ("json:/a", format!("`json:/a` is not a rule; {the_rules}")),
        ("status=", status("")),
        ("status=2x", status("2x")),
        ("status=99", status("99")),
        ("status=+200", status("+200")),
        ("status=200,1000", status("1000")),
        (
            "status=200 status=404",
            "there are two rules `status=`; write one: status=200,404".into(),
        ),
        ("body~", "`body~` has no text; write for example body~hotel".into()),
        ("bytes>=1k", "`1k` is not a valid number of bytes; write for example bytes>=1000".into()),
        ("header:=x", "`header:` has no name; write for example header:Server=nginx".into()),
        (
            "json:a=1",
            "`a` is not a JSON pointer, which begins with `/`; write for example \
             json:/hotels/0/name=Clift"
                .into(),
        ),
        ("body~'a b", "the quote in `'a b` is not closed; write for example body~\"a b\"".into()),
        (
            "body~'a'b",
            "text after the closing quote in `'a'b`; leave a space between rules, and put a value \
             with quotes into the other kind: body~'\"a\": 1'"
                .into(),
        ),
    ] {
        assert_eq!(Checks::parse(rules).map(drop), Err(wrong), "{rules}");
    }
}
