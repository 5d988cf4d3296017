use super::*;

fn to(status: u16, location: &str) -> Option<(String, String)> {
    let response = Response::builder().status(status).header(LOCATION, location).body(());
    redirect("127.0.0.1:8080", &response.unwrap())
}

#[test]
fn a_redirect_is_followed_to_the_same_host_only() {
    let followed = Some(("127.0.0.1:9090".to_owned(), "/ready".to_owned()));
    assert_eq!(to(307, "http://127.0.0.1:9090/ready"), followed);
    assert_eq!(to(301, "http://127.0.0.1/"), Some(("127.0.0.1:80".to_owned(), "/".to_owned())));
    assert_eq!(to(307, "http://10.0.0.1:9090/ready"), None);
    assert_eq!(to(307, "/ready"), None);
    assert_eq!(to(200, "http://127.0.0.1:9090/ready"), None);
}
