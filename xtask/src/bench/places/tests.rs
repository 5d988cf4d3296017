use super::*;

#[test]
fn a_place_is_filled_after_the_words_are_cut_and_an_option_without_one_is_left_out() {
    let places = [("root", "/a b"), ("url", "http://x/"), ("none", "")];
    let places = places.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
    let words = filled("-s {root}/c.lua\n --cache {cache} {url} --save {none}", &places);
    assert_eq!(words, ["-s", "/a b/c.lua", "http://x/", "--save", ""]);
}
