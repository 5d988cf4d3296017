use super::*;

use expect_test::expect;

fn sample() -> Post {
    let account = |user_id: i64| Account { user_id, username: format!("username_{user_id}") };
    let media = |media_id, media_type: &str| Media { media_id, media_type: media_type.into() };
    Post {
        post_id: 6_693_497_670_704_545_792,
        creator: Some(account(0)),
        req_id: 760_157_946_027_324_288,
        text: "hello @username_1 http://short-url/GbDR7MvBXQ".into(),
        user_mentions: vec![account(1)],
        media: vec![media(123_456_789_012_345_678, "png"), media(2, "png")],
        urls: vec![Url {
            shortened_url: "http://short-url/GbDR7MvBXQ".into(),
            expanded_url: "http://abcdef".into(),
        }],
        timestamp: 1_795_190_686_711,
        post_type: 0,
    }
}

fn text(json: Vec<u8>) -> String {
    String::from_utf8(json).unwrap()
}

#[test]
fn a_post_is_the_originals_byte_for_byte() {
    expect![[r#"{"urls":[{"expanded_url":"http:\/\/abcdef","shortened_url":"http:\/\/short-url\/GbDR7MvBXQ"}],"req_id":"760157946027324288","post_id":"6693497670704545792","creator":{"username":"username_0","user_id":"0"},"media":[{"media_id":"123456789012345678","media_type":"png"},{"media_id":"2","media_type":"png"}],"post_type":0,"timestamp":"1795190686711","text":"hello @username_1 http:\/\/short-url\/GbDR7MvBXQ","user_mentions":[{"username":"username_1","user_id":"1"}]}"#]]
    .assert_eq(&text(post(&sample())));
}

#[test]
fn empty_lists_are_empty_objects_and_a_text_is_only_a_text() {
    let creator = Some(Account { user_id: -1, username: "\"</script>".into() });
    let bare = Post { text: "/\\\"\n\u{1}ü</script>/".into(), creator, ..Post::default() };
    expect![[r#"{"urls":{},"req_id":"0","post_id":"0","creator":{"username":"\"<\/script>","user_id":"-1"},"media":{},"post_type":0,"timestamp":"0","text":"\/\\\"\n\u0001ü<\/script>\/","user_mentions":{}}"#]]
    .assert_eq(&text(post(&bare)));
    let read: serde_json::Value = serde_json::from_slice(&post(&bare)).unwrap();
    assert_eq!(read["text"], bare.text);
}

#[test]
fn followers_are_objects_with_one_string() {
    assert_eq!(text(users("follower_id", &[])), EMPTY);
    let two = text(users("follower_id", &[3, 77]));
    assert_eq!(two, r#"[{"follower_id":"3"},{"follower_id":"77"}]"#);
}
