use super::*;

#[test]
fn a_form_is_percent_encoded() {
    assert_eq!(
        form(&[("a", "b c"), ("text", "@x http://y/?a=b&c+d%")]),
        "a=b+c&text=%40x+http%3A%2F%2Fy%2F%3Fa%3Db%26c%2Bd%25"
    );
    assert_eq!(
        form(&[("ids", "[\"1\",\"2\"]"), ("none", ""), ("name", "ü")]),
        "ids=%5B%221%22%2C%222%22%5D&none=&name=%C3%BC"
    );
}

#[test]
fn an_empty_list_may_be_an_object() {
    let texts = |json: &str| match serde_json::from_str(json) {
        Ok(List::Filled(posts)) => {
            Some(posts.into_iter().map(|post: PostText| post.text).collect())
        }
        Ok(List::Empty {}) => Some(Vec::new()),
        Err(_) => None,
    };
    assert_eq!(texts("{}"), Some(Vec::<String>::new()));
    assert_eq!(texts("[]"), Some(vec![]));
    assert_eq!(texts(r#"[{"text":"a \/ b","urls":{}}]"#), Some(vec!["a / b".into()]));
    assert_eq!(texts("\"text\""), None);
}

#[test]
fn numbers_are_sorted_and_others_are_refused() {
    let numbers = |texts: &[&str]| numbers(texts.iter().map(|text| (*text).to_owned()));
    assert_eq!(numbers(&["30", "4"]), Ok(vec![4, 30]));
    assert!(numbers(&["4", "-1"]).unwrap_err().contains("`-1`"));
}
