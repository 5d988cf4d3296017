use super::*;

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nX-Token:  a b \r\nSet-Cookie: x=1\r\n\
    set-cookie: sid=s3=; Path=/\r\nLocation: /next\r\n\r\n";

fn take(text: &str, body: &str, needs: Needs) -> Result<String, &'static str> {
    let mut captures = Captures::default();
    captures.add(0, "v", text).unwrap_or_else(|wrong| panic!("{wrong}"));
    let kept = if captures.wanted() == Wanted::Body { body.as_bytes() } else { b"" };
    let body_length = body.len() as u64;
    let answer =
        Response { status: 200, head: HEAD, body: kept, body_length, connection: 0, tag: 0 };
    let mut values = [b"old".to_vec()];
    captures.take(&answer, &[needs], &mut values)?;
    Ok(String::from_utf8(values[0].clone()).unwrap())
}

#[test]
fn a_value_is_taken_from_each_place() {
    let json = r#"{"a":[{"t":"x\n\"y"},7,true,null,{"b": 1}],"t":"plain"}"#;
    let page = r#"<FORM><input name=other value=1><!-- <input name="csrf" value="no"> -->
        <INPUT type='hidden'  value='a&amp;b&#x2B;&#61;&unknown;' data-x name="csrf"/>
        <textarea name="note">
two &lt; three</textarea><input name="empty"><inputs name=late value=9></FORM>"#;
    for (source, body, expected) in [
        ("json:/t", json, "plain"),
        ("json:/a/0/t", json, "x\n\"y"),
        ("json:/a/1", json, "7"),
        ("json:/a/2", json, "true"),
        ("json:/a/4", json, r#"{"b": 1}"#),
        ("header:x-token", "", "a b"),
        ("cookie:sid", "", "s3="),
        ("regex:a=(\\w+)", "b=1&a=two&a=3", "two"),
        ("regex:t\\wo", "b=1&a=two&a=3", "two"),
        ("form:csrf", page, "a&b+=&unknown;"),
        ("form:note", page, "two < three"),
        ("form:empty", page, ""),
    ] {
        assert_eq!(take(source, body, Needs::default()).as_deref(), Ok(expected), "{source}");
    }
    for (source, body) in [
        ("json:/a/9", json),
        ("json:/t", "{"),
        ("json:/t", ""),
        ("header:x-none", ""),
        ("cookie:SID", ""),
        ("regex:z(\\d)", "z"),
        ("form:late", page),
        ("form:csrf", "<input name=\"csrf"),
    ] {
        let reason = format!("v from {source}: not in the response");
        let found = take(source, body, Needs::default());
        let is_empty = source == "form:csrf" && found.as_deref() == Ok("");
        assert!(is_empty || found == Err(&*reason), "{source}: {found:?}");
    }
    // It is there, so nobody should look for the pointer's fault.
    let null = take("json:/a/3", json, Needs::default());
    assert_eq!(null, Err("v from json:/a/3: null in the response"));
}

#[test]
fn a_value_that_may_not_stand_where_it_is_used_is_refused() {
    let field = Needs { in_field: true, ..Needs::default() };
    let target = Needs { begins_target: true, ..Needs::default() };
    for (body, needs, is_fit) in [
        ("a\tb", field, true),
        ("a\r\nX: evil", field, false),
        ("a\r\nX: evil", Needs::default(), true),
        ("/next", target, true),
        ("https://h/next", target, true),
        ("next", target, false),
    ] {
        let found = take("regex:(?s).*", body, needs);
        let unfit = "v from regex:(?s).*: not a value that may stand where it is used";
        assert_eq!(found.as_deref(), if is_fit { Ok(body) } else { Err(&unfit) });
    }
}

#[test]
fn values_and_bodies_have_bounds() {
    let long = "x".repeat(MOST_OF_ONE);
    assert_eq!(take("regex:x+", &long, Needs::default()).map(|value| value.len()), Ok(MOST_OF_ONE));
    let longer = "x".repeat(MOST_OF_ONE + 1);
    let reason = "v from regex:x+: over 8192 bytes, or all values of the session over 32768";
    assert_eq!(take("regex:x+", &longer, Needs::default()), Err(reason));
    let body = " ".repeat(MOST_OF_BODY as usize) + "x";
    let reason = "v from regex:x+: the body is longer than 1048576 bytes";
    assert_eq!(take("regex:x+", &body, Needs::default()), Err(reason));
}

#[test]
fn a_source_that_is_not_valid_is_refused_with_the_remedy() {
    for (text, expected) in [
        ("token", "`token` is not a source of a value; write one of json:/POINTER, header:NAME"),
        ("json:token", "`token` is not a JSON pointer, which begins with `/`; write for example"),
        ("header:", "`header:` has no name; write for example header:Location"),
        ("header:a b", "`a b` is not a valid name of a header field"),
        ("regex:(", "`(` is not a valid regular expression (error: unclosed group); correct it"),
    ] {
        let wrong = Captures::default().add(0, "v", text).unwrap_err();
        assert!(wrong.starts_with(expected), "{wrong}");
    }
}
