use super::*;

#[test]
fn a_password_is_known_by_either_hash_and_no_other_is() {
    for (algorithm, beginning) in
        [(Algorithm::Bcrypt, "$2b$04$"), (Algorithm::SaltedSha256, "$salted-sha256$")]
    {
        let hashing = Hashing { algorithm, cost: 4 };
        let (first, second) = (hashing.hash("secret").unwrap(), hashing.hash("secret").unwrap());
        assert!(first.starts_with(beginning), "{first}");
        assert_ne!(first, second, "each has its salt");
        assert!(is_correct("secret", &first).unwrap() && is_correct("secret", &second).unwrap());
        assert!(!is_correct("Secret", &first).unwrap() && !is_correct("", &first).unwrap());
    }
}

#[test]
fn the_originals_digest_is_of_the_password_and_then_the_salt() {
    // By Python's hashlib.
    let expected = "c7d237ae262212a5fb44f36387c62e32dff0f2dd9a779aea6263d88166538f7f";
    assert_eq!(digest("password_0", "abc"), expected);
}

#[test]
fn a_hash_that_nobody_made_is_an_error() {
    assert!(is_correct("secret", "").is_err());
    assert!(is_correct("secret", "$2b$04$x").is_err());
    assert!(is_correct("secret", "$salted-sha256$").is_err());
    assert!(!is_correct("secret", "$salted-sha256$x$y").unwrap());
}
