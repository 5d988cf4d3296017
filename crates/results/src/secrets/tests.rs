use super::*;

fn secrets() -> Secrets {
    let mut secrets = Secrets::default();
    let environment = |name: &str| match name {
        "TOKEN" => Some("tok-\"12345".to_owned()),
        "SHORT" => Some("1".to_owned()),
        _ => None,
    };
    secrets
        .find("${env.TOKEN} ${env.SHORT} ${env.NONE} ${env.} ${env.a b} ${vars.x}", &environment);
    secrets
}

#[test]
fn references_are_found_in_a_text_and_others_are_left_alone() {
    let found: Vec<&str> =
        references("a${env.A}${ ${vars.b} ${redacted.2}${env.C_1}${env.}").collect();
    assert_eq!(found, ["env.A", "redacted.2", "env.C_1"]);
    assert_eq!(secrets().names().collect::<Vec<_>>(), ["env.NONE", "env.SHORT", "env.TOKEN"]);
}

#[test]
fn what_is_written_like_a_reference_and_is_none_is_found() {
    for (text, unknown) in [
        ("Bearer ${TOKEN}", Some("TOKEN")),
        ("Bearer ${env.TOKEN}${vars.x}", Some("vars.x")),
        ("${env.A-B}", Some("env.A-B")),
        ("Bearer ${env.TOKEN} ${redacted.1}", None),
        ("${ ${} ${jndi:ldap} ${a b} $TOKEN ${TOKEN", None),
    ] {
        assert_eq!(unknown_in(text), unknown, "{text}");
    }
}

#[test]
fn a_value_is_put_in_place_of_its_reference_and_a_reference_without_one_stays() {
    let secrets = secrets();
    let text = "Bearer ${env.TOKEN}, ${env.NONE}, ${vars.x}, ${, ${env.SHORT}";
    let revealed = secrets.reveal(text);
    assert_eq!(revealed, "Bearer tok-\"12345, ${env.NONE}, ${vars.x}, ${, 1");
    assert_eq!(secrets.missing(text), Some("env.NONE"));
    assert_eq!(secrets.missing("${env.TOKEN}${vars.x}"), None);
}

#[test]
fn a_value_is_hidden_in_each_form_that_a_program_may_print() {
    let secrets = secrets();
    let printed = r#"tok-"12345 {"a":"tok-\"12345"} q=tok-%2212345 1"#;
    let shown = secrets.redact(printed);
    assert_eq!(shown, r#"${env.TOKEN} {"a":"${env.TOKEN}"} q=${env.TOKEN} 1"#);
    assert_eq!(format!("{secrets:?}"), r#"{"env.NONE", "env.SHORT", "env.TOKEN"}"#);
}

#[test]
fn a_value_with_quotes_and_blanks_is_hidden_in_each_form_that_quotes_it() {
    let value = "it's \"a\" <b> & $c/\\ü\u{1f511}";
    let mut secrets = Secrets::default();
    secrets.set("env.TOKEN", value);
    let json = |text: &str| serde_json::to_string(text).unwrap();
    let forms = [
        value.to_owned(),
        crate::shell::word(value),
        json(&crate::shell::word(value)),
        crate::shell::line(&["--header", value]),
        format!("{value:?}"),
        json(value),
        json(value).replace('/', "\\/"),
        json(value).replace('ü', "\\u00fc").replace('\u{1f511}', "\\ud83d\\udd11"),
        format!("'{}'", value.replace('\'', "''")),
        r#""it's \"a\" <b> & \$c/\\ü🔑""#.to_owned(),
        r#"it\'s\ \"a\"\ \<b\>\ \&\ \$c/\\\ü\🔑"#.to_owned(),
        "it&#39;s &quot;a&quot; &lt;b&gt; &amp; $c/\\ü🔑".to_owned(),
        "it&#x27;s &quot;a&quot; &lt;b&gt; &amp; $c/\\ü🔑".to_owned(),
        "it&apos;s &quot;a&quot; &lt;b&gt; &amp; $c/\\ü🔑".to_owned(),
        "it%27s%20%22a%22%20%3cb%3e%20%26%20%24c%2f%5c%c3%bc%f0%9f%94%91".to_owned(),
        // Each of these leaves other characters as they are.
        "it's%20%22a%22%20%3Cb%3E%20%26%20$c/%5C%C3%BC%F0%9F%94%91".to_owned(),
        "it%2527s%2520%2522a%2522%2520%253Cb%253E%2520%2526%2520%2524c%252F%255C%25C3%25BC%25F0%259F%2594%2591"
            .to_owned(),
        "it&#39;s &#34;a&#34; &lt;b&gt; &amp; $c/\\ü🔑".to_owned(),
        "it&#039;s &quot;a&quot; &#60;b&#62; &#038; $c/\\&#xfc;&#128273;".to_owned(),
        r#"it's \"a\" \u003cb\u003e \u0026 $c/\\ü🔑"#.to_owned(),
        r#"it\u0027s \u0022a\u0022 \u003Cb\u003E \u0026 $c\/\\\u00FC\uD83D\uDD11"#.to_owned(),
        r#"b'it\'s "a" <b> & $c/\\\xc3\xbc\xf0\x9f\x94\x91'"#.to_owned(),
        r#"'it\'s "a" <b> & $c/\\\xfc\U0001f511'"#.to_owned(),
        r#"it's "a" <b> & $c/\\\303\274\360\237\224\221"#.to_owned(),
        r#"'it'"'"'s "a" <b> & $c/\ü🔑'"#.to_owned(),
        r#""it's ""a"" <b> & $c/\ü🔑""#.to_owned(),
        json(&json(value)),
        json(&json(&json(value))),
    ];
    for form in forms {
        let hidden = secrets.hide(&format!("[{form}]"));
        assert!(hidden.contains("${env.TOKEN}"), "{form} becomes {hidden}");
        assert!(!hidden.contains("a\\\"") && !hidden.contains("$c"), "{form} becomes {hidden}");
    }
}

/// A file often ends its only line, and a program prints a private key line by line.
#[test]
fn a_value_of_several_lines_is_hidden_in_each_of_them() {
    let mut secrets = Secrets::default();
    secrets.set("env.ONE", " s3cret-value\n");
    assert_eq!(secrets.hide("got s3cret-value."), "got ${env.ONE}.");
    let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END KEY-----\n";
    secrets.set("env.KEY", key);
    assert_eq!(secrets.hide(&format!("key={key}")), "key=${env.KEY}\n");
    assert_eq!(secrets.hide("12:00 hkiG9w0BAQEFAASC"), "12:00 ${env.KEY}");
    assert_eq!(secrets.hide(&format!("{key:?}")), "\"${env.KEY}\\n\"");
}

/// Nothing is taken for a value, although parts of it are its beginning or look like escapes.
#[test]
fn a_text_without_the_value_stays() {
    let mut secrets = Secrets::default();
    secrets.set("env.T", "ab%41\\n+c");
    for text in
        ["ab%41\\n+d", "abA\n c", "%61%6", "ab%", "ab\\", "&#97", "ab%25", "'\\", "\\u00", "ü%é&ü;"]
    {
        assert_eq!(secrets.hide(text), text);
    }
    for text in ["ab%41\\n+c", "ab%2541%5Cn%2Bc", "ab%41\\\\n+c", "ab%41&#92;n&#43;c"] {
        assert_eq!(secrets.hide(text), "${env.T}", "{text}");
    }
}

#[test]
fn the_longest_of_two_values_that_contain_each_other_is_hidden_first() {
    let mut secrets = Secrets::default();
    let environment = |name: &str| Some(if name == "A" { "abcd" } else { "abcdef" }.to_owned());
    secrets.find("${env.A}${env.B}", &environment);
    assert_eq!(secrets.redact("abcdef abcd"), "${env.B} ${env.A}");
}

#[test]
fn values_pass_to_another_program_and_an_error_there_does_not_show_them() {
    let secrets = secrets().only(|name| name == "env.TOKEN");
    assert_eq!(secrets.written(), r#"{"env.TOKEN":"tok-\"12345"}"#);
    assert_eq!(Secrets::read(&secrets.written()).unwrap(), secrets);
    let error = Secrets::read(r#"{"env.TOKEN": 12345678}"#).unwrap_err();
    assert!(!error.contains("12345678") && error.contains("line 1"), "{error}");
}

#[test]
fn equal_values_that_were_written_plainly_have_one_reference() {
    let mut secrets = secrets();
    let references = ["a", "b", "a"].map(|value| secrets.keep(value));
    assert_eq!(references, ["${redacted.1}", "${redacted.2}", "${redacted.1}"]);
    assert_eq!(secrets.reveal("${redacted.2}"), "b");
    assert_eq!(secrets.plain(), 2);
}

#[test]
fn secrets_are_recognised_in_requests_documents_and_command_lines() {
    let cases = [
        ("Authorization: Bearer abc.def", "Authorization: Bearer (redacted)"),
        ("authorization:abc", "authorization:(redacted)"),
        ("Cookie: a=1; session=xyz", "Cookie: a=(redacted); session=(redacted)"),
        ("X-API-Key: k\r\nAccept: */*", "X-API-Key: (redacted)\r\nAccept: */*"),
        (
            r#"{"Authorization": "Basic dTpw", "b": 1}"#,
            r#"{"Authorization": "Basic (redacted)", "b": 1}"#,
        ),
        ("{'Proxy-Authorization': 'x y'}", "{'Proxy-Authorization': '(redacted)'}"),
        ("http://u:pw@h:1/p?q a", "http://u:(redacted)@h:1/p?q a"),
        ("postgres://u:p@w@h", "postgres://u:(redacted)@h"),
        ("http://user@h/a:b@c", "http://user@h/a:b@c"),
        ("http://h:80/x", "http://h:80/x"),
        ("GET /a?api_key=QKEY998877&page=7 for", "GET /a?api_key=(redacted)&page=7 for"),
        ("/a?page=7&token=a%2Fb+c/d==#x", "/a?page=7&token=(redacted)#x"),
        ("`http://h/?token=abcd`: no", "`http://h/?token=(redacted)`: no"),
        ("http://h/?token=abcd: no", "http://h/?token=(redacted): no"),
        ("/a?token={{uuid}}&tokens=1234", "/a?token={{uuid}}&tokens=1234"),
        (
            "failed: 404 by 10 to /nope?password=S3cr!et*99, and",
            "failed: 404 by 10 to /nope?password=(redacted), and",
        ),
        (
            "/a?key=k-12345&code=4%2F0Ab&session=abcd",
            "/a?key=(redacted)&code=(redacted)&session=(redacted)",
        ),
        // These say themselves what is secret.
        ("Authorization: Bearer ${env.T}", "Authorization: Bearer ${env.T}"),
        ("http://u:${env.P}@h", "http://u:${env.P}@h"),
        // And these are no header fields.
        ("no Authorization here", "no Authorization here"),
        ("an authority: x, my-author: x", "an authority: x, my-author: x"),
        ("ünïcode: Cookie: ä=ö", "ünïcode: Cookie: ä=(redacted)"),
    ];
    for (text, shown) in cases {
        assert_eq!(without_plain(text), shown, "{text}");
        assert_eq!(without_plain(shown), shown, "once is enough: {text}");
    }
}

#[test]
fn user_information_becomes_a_header_field() {
    // RFC 7617, section 2.
    assert_eq!(basic("Aladdin:open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    assert_eq!(basic("Aladdin:open%20sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    assert_eq!(basic("a%4:%"), basic("a%4:%"));
    assert_eq!(basic("Aladdin"), basic("Aladdin:"), "an empty password");
}

#[test]
fn a_value_has_the_form_that_a_url_or_a_json_document_needs() {
    let mut secrets = Secrets::default();
    let environment =
        |name: &str| Some(if name == "URL" { "http://h:1" } else { "p@s/s \"" }.to_owned());
    secrets.find("${env.PW}${env.URL}", &environment);
    let url = "http://u:${env.PW}@h:1/a?b=${env.PW}";
    assert_eq!(secrets.reveal_in_url(url), "http://u:p%40s%2Fs%20%22@h:1/a?b=p%40s%2Fs%20%22");
    assert_eq!(secrets.reveal_in_url("/a?${env.PW}"), "/a?p%40s%2Fs%20%22");
    assert_eq!(secrets.reveal_in_url("${env.URL}/x"), "http://h:1/x");
    assert_eq!(secrets.reveal_in_json(r#"{"a":"${env.PW}"}"#), r#"{"a":"p@s/s \""}"#);
    // Whatever form is printed, it is not shown.
    assert_eq!(secrets.redact("q=p%40s%2Fs+%22"), "q=${env.PW}");
}

/// A request of the references is the one that was written.
#[test]
fn a_url_has_its_values_again_whatever_is_encoded_in_it() {
    for (url, shown, is_same) in [
        ("/a?key=k%2F1%3D%3D&b=1", "/a?key=${redacted.1}&b=1", true),
        ("/a?b=1&password=p%40s%20s#x", "/a?b=1&password=${redacted.1}#x", true),
        ("http://u:p%40ss@h/?pw=word", "http://u:${redacted.2}@h/?pw=${redacted.1}", true),
        // It is the same for the service.
        ("/a?password=S3cr!et", "/a?password=${redacted.1}", false),
        ("/a?token=a+b+c+d&key={{int 1 9}}", "/a?token=a+b+c+d&key={{int 1 9}}", true),
    ] {
        let mut secrets = Secrets::default();
        let written = url_kept(url, &mut |_, value| secrets.keep(value));
        assert_eq!(written, shown);
        assert_eq!(secrets.reveal_in_url(&written) == url, is_same, "{url}");
        assert_eq!(unescaped(&secrets.reveal_in_url(&written)), unescaped(url));
    }
}

#[test]
fn a_password_with_a_character_that_ends_an_authority_is_kept_whole() {
    assert_eq!(without_plain("see http://u:s3/cr@h:1/x now"), "see http://u:(redacted)@h:1/x now");
    assert_eq!(without_plain("http://u:s3?cr#@h"), "http://u:(redacted)@h");
    for plain in ["http://h:80/a:b@c", "http://h/a:b@c", "http://[::1]/a@b"] {
        assert_eq!(without_plain(plain), plain);
    }
}

/// Names of header fields and parameters are known by their words.
#[test]
fn names_with_a_word_such_as_token_are_those_of_secrets() {
    for name in [
        "Authorization",
        "X-Auth",
        "X-Auth-Token",
        "api_key",
        "X-Foo-Secret",
        "API-KEY",
        "access_key",
        "accessToken",
        "newPassword",
        "passwordConfirmation",
        "clientSecret",
        "apiKey",
        "APIKey",
        "xAuth",
        "csrfmiddlewaretoken",
        "user[password]",
        "otp",
        "pwd",
        "pw",
        "pin",
        "user_pass",
        "X-Session",
        "X-CSRF",
        "_csrf",
        "X-XSRF-Token",
        "sid",
        "refresh_token",
        "code_verifier",
        "X-Authorization",
        "X-Forwarded-Authorization",
        "xAuthorization",
        "Authentication",
        "auth",
        "bearer",
        "client_assertion",
        "SAMLResponse",
        "X-Shop-Hmac-Sha256",
        "passwd",
        "jsessionid",
        "Cookie2",
        "session",
    ] {
        assert!(is_secret_parameter(name), "{name}");
        assert!(is_secret_field(name), "{name}");
    }
    for name in [
        "Accept",
        "max_tokens",
        "maxTokens",
        "key",
        "X-Author",
        "monkey",
        "Content-Type",
        "design",
        "stop",
        "session_count",
        "bypass",
        "pinned",
        "--pin",
        "X-Country-Code",
        "authority",
        "author",
        "private-cache",
        "client_assertion_type",
        "authentication-service",
        "code",
    ] {
        assert!(!is_secret_field(name), "{name}");
    }
    for (name, is_secret) in [
        ("key", true),
        ("code", true),
        ("private", true),
        ("to%6ben", true),
        ("user%5Bpassword%5D", true),
        ("p%61ge", false),
        ("is_private", false),
        ("sort_key", false),
        ("postcode", false),
        ("page", false),
    ] {
        assert_eq!(is_secret_parameter(name), is_secret, "{name}");
    }
    let mut kept = |_: &str| "(gone)".to_owned();
    let of = |text: &str| passwords_kept(text, &mut kept);
    let texts = [
        ("/a?api_key=QKEY998877&b=1", "/a?api_key=(gone)&b=1"),
        ("/a?auth=abcd1234&author=x1234", "/a?auth=(gone)&author=x1234"),
        ("/a?b=1&access_token=abcd.efgh#x", "/a?b=1&access_token=(gone)#x"),
        ("http://u:word@h/?token=12345678", "http://u:(gone)@h/?token=(gone)"),
        (
            "/user?username=Cornell_1&password=1111111111",
            "/user?username=Cornell_1&password=(gone)",
        ),
        ("/a?key=0123456789&sort_key=name", "/a?key=(gone)&sort_key=name"),
        ("/a?password=${vars.password}", "/a?password=${vars.password}"),
        // What does not stand for itself in a URL stays.
        ("/a?token=a%2Fb%2Fc", "/a?token=a%2Fb%2Fc"),
        ("/a?token=${env.T}&tokens=1234", "/a?token=${env.T}&tokens=1234"),
    ];
    let mut of = of;
    for (text, wanted) in texts {
        assert_eq!(of(text), wanted);
    }
    let text = "X-Foo-Token: abcdef\nunexpected token: x";
    assert_eq!(without_plain(text), "X-Foo-Token: (redacted)\nunexpected token: x");
}

/// A service that echoes what it got from a URL's user information shows it in base 64.
#[test]
fn a_value_inside_of_base_64_is_hidden() {
    let mut secrets = Secrets::default();
    secrets.find("${env.T}", &|_| Some("s3cret-value".to_owned()));
    for user in ["u", "us", "use"] {
        let echoed = format!("bad header {}, sorry", basic(&format!("{user}:s3cret-value")));
        assert_eq!(secrets.hide(&echoed), "bad header Basic (redacted), sorry", "{user}");
        assert_eq!(
            secrets.hide(&echoed.replace('=', "")),
            "bad header Basic (redacted), sorry",
            "{user}"
        );
    }
    let other = format!("{} and /a/b+c=", basic("u:another"));
    assert_eq!(secrets.hide(&other), other);

    // The alphabet of URLs, behind any number of bytes, and behind a word that is joined to it.
    let mut secrets = Secrets::default();
    secrets.find("${env.T}", &|_| Some("?>ü~s3cret".to_owned()));
    for before in ["", "a", "ab", "abc", "abcd"] {
        let encoded = BASE64_STANDARD.encode(format!("{before}?>ü~s3cret:x"));
        let safe = encoded.replace('+', "-").replace('/', "_");
        assert_eq!(secrets.hide(&format!("got {safe}.")), "got (redacted).");
        assert_eq!(secrets.hide(&format!("got a/{encoded}, {safe}")), "got (redacted), (redacted)");
        assert_eq!(secrets.hide(&format!("got q_{safe} here")), "got (redacted) here");
    }
    assert_eq!(without_plain("Basic Pz4_Ojp-fn4 here"), "Basic (redacted) here");
}

/// Parameters of a path, tokens in place of a user's name, and credentials that no field name announces.
#[test]
fn secrets_are_known_wherever_they_stand() {
    let texts = [
        ("/a;jsessionid=0A1B2C3D?x=1", "/a;jsessionid=(redacted)?x=1"),
        ("http://h/?b=1&sig=a%2Fb%3D&c=2", "http://h/?b=1&sig=(redacted)&c=2"),
        ("https://ghp_0123456789abcdef@h/x", "https://(redacted)@h/x"),
        ("https://ghp_0123456789abcdef:x@h/x", "https://(redacted):(redacted)@h/x"),
        ("https://someone@h/x", "https://someone@h/x"),
        ("it got Bearer abcd.efgh, sorry", "it got Bearer (redacted), sorry"),
        ("it wants a Bearer token", "it wants a Bearer token"),
        ("Basic dTpwYXNz is wrong", "Basic (redacted) is wrong"),
        ("Basic authentication", "Basic authentication"),
    ];
    for (text, wanted) in texts {
        assert_eq!(without_plain(text), wanted);
    }
    let lines = [
        ("headers: \"Authorization Bearer X\"", "headers: \"Authorization Bearer (redacted)\""),
        ("  - X-Api-Key abc def", "  - X-Api-Key (redacted)"),
        ("  Authorization: ${env.T}", "  Authorization: ${env.T}"),
        ("  cookie=a=b; c=d", "  cookie=a=(redacted); c=(redacted)"),
    ];
    for (line, wanted) in lines {
        assert_eq!(without_plain_in_line(line), wanted);
    }
}

#[test]
fn a_parameter_of_a_fragment_is_a_secret_and_one_that_says_yes_or_no_is_not() {
    let text = "/a?private=true#access_token=abcd&x=1";
    assert_eq!(without_plain(text), "/a?private=true#access_token=(redacted)&x=1");
    assert_eq!(without_plain("X-Authorization: abc"), "X-Authorization: (redacted)");
}

#[test]
fn the_whole_value_of_a_secret_field_is_hidden_in_a_line_of_yaml() {
    let lines = [
        (
            r#"headers: {Cookie: ["sid=E3secret"], X-Api-Key: ["E4", 'it''s'], X: {a: b}}"#,
            "headers: {Cookie: (redacted), X-Api-Key: (redacted), X: {a: b}}",
        ),
        (r#"Authorization: "Bearer a\"b" # x"#, r#"Authorization: "Bearer (redacted)" # x"#),
        ("Authorization: Bearer E1 ${nope}", "Authorization: (redacted)"),
        ("{X-Api-Key: ${env.A}, X-Auth: ab, B: c}", "{X-Api-Key: ${env.A}, X-Auth: (redacted)"),
        ("X-Api-Key: [\"${env.A}\"]", "X-Api-Key: [\"${env.A}\"]"),
        ("Cookie: id=${env.A}; b=${vars.c}", "Cookie: id=${env.A}; b=${vars.c}"),
        ("Cookie: id=E1${env.A}", "Cookie: (redacted)"),
    ];
    for (line, wanted) in lines {
        assert_eq!(without_plain_in_line(line), wanted);
    }
}

#[test]
fn the_lines_below_the_name_of_a_secret_field_are_hidden() {
    let text = "\
headers:
  Authorization:
    - \"E1secret ${nope}\"
  Cookie:
  - a=E2secret
  X-Token: |
    E3secret

    E4secret
  X-Api-Key: [
    E5secret,
    \"E6secret\"]
  X-Auth:
    a: E7secret
  Accept: text/plain
get: /
auth-service:
  image: plain
";
    let shown: Vec<String> =
        (1..).zip(text.lines()).map(|(number, _)| line_without_plain(text, number)).collect();
    let wanted = "\
headers:
  Authorization:
    - (redacted)
  Cookie:
  - (redacted)
  X-Token: |
    (redacted)

    (redacted)
  X-Api-Key: [
    (redacted)
    (redacted)
  X-Auth:
    (redacted)
  Accept: text/plain
get: /
auth-service:
  image: plain
";
    assert_eq!(shown.join("\n") + "\n", wanted);
    assert_eq!(line_without_plain(text, 99), "");
}

#[test]
fn a_command_line_is_shown_without_bodies_secret_fields_and_fragments() {
    let given = [
        "http://a/x#access_token=abcd",
        "--body",
        "{\"password\":\"x\"}",
        "--body=abc",
        "-H",
        "session: abcd",
        "-kHX-Authorization: abcd",
        "--header=Accept: a#b",
        "-H",
        "token: ${env.T}",
        "-mHEAD",
        "--ycsb-property",
        "redis.password=abcd",
        "--",
        "--body",
        "7",
    ];
    let shown = [
        "http://a/x",
        "--body",
        "(16 bytes)",
        "--body=(3 bytes)",
        "-H",
        "session: (redacted)",
        "-kHX-Authorization: (redacted)",
        "--header=Accept: a#b",
        "-H",
        "token: ${env.T}",
        "-mHEAD",
        "--ycsb-property",
        "redis.password=(redacted)",
        "--",
        "--body",
        "7",
    ];
    assert_eq!(words(&given.map(str::to_owned)), shown);
}
