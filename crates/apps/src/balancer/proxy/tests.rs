use super::*;

#[test]
fn what_belongs_to_a_connection_is_not_passed_on() {
    let request = Request::post("http://elsewhere/auth/login?a=b")
        .header("Host", "users")
        .header("Connection", "keep-alive, X-Hop")
        .header("X-Hop", "1")
        .header("Transfer-Encoding", "chunked")
        .header("Authorization", "Bearer x");
    let passed = passed_on(request.body(Bytes::from_static(b"{}")).unwrap()).unwrap();
    assert_eq!(passed.uri(), "/auth/login?a=b");
    let names: Vec<&str> = passed.headers().keys().map(HeaderName::as_str).collect();
    assert_eq!(names, ["host", "authorization"]);
    let tunnel = Request::connect("elsewhere:443").body(Bytes::new()).unwrap();
    assert!(passed_on(tunnel).is_none());
}
