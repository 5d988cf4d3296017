use expect_test::expect;

use super::{at, described, said, written};
use crate::Wanted;

/// The shape of the usual example, and of what generators of servers write: 3.0, in JSON.
const THREE: &str = r##"{
  "openapi": "3.0.3",
  "info": {"title": "Pets\n# of a test", "version": "1"},
  "servers": [{"url": "https://{region}.pets.example/v1", "variables": {"region": {"default": "eu"}}},
              {"url": "http://localhost:8080/v1"}],
  "security": [{"token": []}],
  "paths": {
    "/pets": {
      "get": {
        "operationId": "listPets",
        "summary": "All pets",
        "parameters": [
          {"name": "limit", "in": "query", "required": true, "schema": {"type": "integer", "minimum": 5}},
          {"name": "status", "in": "query", "required": true, "schema": {"type": "array", "items": {"enum": ["sold", "free"]}}},
          {"name": "page", "in": "query", "schema": {"type": "integer"}}
        ],
        "responses": {"200": {"description": "ok"}}
      },
      "post": {
        "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}},
        "responses": {"201": {"description": "made"}}
      }
    },
    "/pets/{petId}": {
      "parameters": [{"$ref": "#/components/parameters/petId"}],
      "get": {"operationId": "showPet", "responses": {}},
      "delete": {"security": [{"key": []}], "responses": {}}
    },
    "/health": {"get": {"security": [], "responses": {}}},
    "/elsewhere": {"$ref": "other.json#/x"}
  },
  "components": {
    "parameters": {"petId": {"name": "petId", "in": "path", "required": true, "example": "a/b 1", "schema": {"type": "string"}}},
    "schemas": {"Pet": {"type": "object", "required": ["name", "born", "owner"], "properties": {
      "name": {"type": "string", "example": "Rex"}, "born": {"type": "string", "format": "date"},
      "owner": {"allOf": [{"$ref": "#/components/schemas/Owner"}]}, "note": {"type": "string"}}},
      "Owner": {"type": "object", "required": ["password"], "properties": {"password": {"type": "string"}, "pet": {"$ref": "#/components/schemas/Pet"}}}},
    "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}, "key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
  }
}"##;

#[test]
fn a_document_of_3_0_becomes_a_mix_whose_writes_are_comments() {
    let found = described(THREE, &Wanted::default()).unwrap();
    assert_eq!(found.title.as_deref(), Some("Pets # of a test"));
    expect![[r#"
        https://eu.pets.example (guess: the first of the document's 2 servers)
        left out: 1 request: a path that is described elsewhere (`$ref`): join the parts to one document first
        not sent: 2 requests with another method than GET and HEAD, which may change data: in the mix they are comments; --writes sends them, too
        BODY_PASSWORD: the field password of a body
        KEY: the security scheme key
        TOKEN: the security scheme token: a token"#]].assert_eq(&said(&found));
    expect![[r##"
        # The requests of a test, one JSON object a line. `benchwright mix check` shows them as they are sent.
        # guess: the weights: every request is as frequent as the others: the document says nothing of it

        # All pets
        # status = sold is the document's
        # guess: limit = 5: the document has no example of this integer
        {"weight":1,"label":"listPets","target":"/v1/pets?limit=5&status=sold","headers":{"Authorization":"Bearer ${env.TOKEN}"}}

        # petId = a/b 1 is the document's
        {"weight":1,"label":"showPet","target":"/v1/pets/a%2Fb%201","headers":{"Authorization":"Bearer ${env.TOKEN}"}}

        {"weight":1,"label":"GET /health","target":"/v1/health"}

        # Not sent. Remove the `#` before a `{` to send one; (NAME) is a secret: write it as a reference to a
        # variable of the environment, as a dollar sign with {env.NAME} behind it.

        # not sent: it may change data
        # guess: the body: born: the document has no example of this string, date
        #{"weight":1,"label":"POST /pets","method":"POST","target":"/v1/pets","headers":{"Authorization":"Bearer ${env.TOKEN}","Content-Type":"application/json"},"body":"{\"name\":\"Rex\",\"born\":\"2026-01-01\",\"owner\":{\"password\":\"(BODY_PASSWORD)\"}}"}

        # not sent: it may change data
        # petId = a/b 1 is the document's
        #{"weight":1,"label":"DELETE /pets/{petId}","method":"DELETE","target":"/v1/pets/a%2Fb%201","headers":{"X-Key":"(KEY)"}}
    "##]].assert_eq(&written(&found));
}

#[test]
fn writes_are_sent_if_the_user_says_so() {
    let wanted = Wanted { writes: true, ..at("http://127.0.0.1:8080") };
    let found = described(THREE, &wanted).unwrap();
    expect![[r#"
        http://127.0.0.1:8080
        left out: 1 request: a path that is described elsewhere (`$ref`): join the parts to one document first
        BODY_PASSWORD: the field password of a body
        KEY: the security scheme key
        TOKEN: the security scheme token: a token"#]].assert_eq(&said(&found));
    let mix = written(&found);
    assert!(
        mix.contains("\n{\"weight\":1,\"label\":\"DELETE /pets/{petId}\",\"method\":\"DELETE\""),
        "{mix}"
    );
    assert!(!mix.contains("# not sent"), "{mix}");
    let own_path = described(THREE, &at("http://127.0.0.1:8080/api/")).unwrap();
    assert!(written(&own_path).contains("\"target\":\"/api/health\""));
    assert_eq!(own_path.endpoint, "http://127.0.0.1:8080");
}

/// Without a path, `--base` keeps that of the document's server, which is a guess.
#[test]
fn a_base_that_ends_with_a_slash_has_no_path_of_the_document() {
    for (base, target, is_guess) in [
        ("http://127.0.0.1:8080", "\"target\":\"/v1/health\"", true),
        ("http://127.0.0.1:8080/", "\"target\":\"/health\"", false),
        ("http://127.0.0.1:8080/api", "\"target\":\"/api/health\"", false),
        ("http://127.0.0.1:8080/api/", "\"target\":\"/api/health\"", false),
    ] {
        let found = described(THREE, &at(base)).unwrap();
        assert_eq!(found.endpoint, "http://127.0.0.1:8080", "{base}");
        assert_eq!(found.paths_guess.is_some(), is_guess, "{base}");
        let mix = written(&found);
        assert!(mix.contains(target), "{base}: {mix}");
    }
}

/// The shape of 3.1: types that are lists, lists of examples, numbers as keys.
const THREE_ONE: &str = r##"
openapi: 3.1.0
info: {title: Items, version: 1.0.0}
servers:
  - url: /api
paths:
  /items/{id}/parts/{part}:
    get:
      parameters:
        - {name: id, in: path, required: true, schema: {type: [integer, "null"], examples: [42]}}
        - {name: part, in: path, required: true, schema: {type: string, format: uuid}}
        - name: api_key
          in: query
          required: true
          schema: {type: string}
      responses:
        200: {description: ok}
        default: {description: wrong}
  /search:
    head:
      parameters:
        - {name: filter, in: query, required: true, schema: {type: object}}
      responses: {}
"##;

#[test]
fn a_document_of_3_1_in_yaml_is_read() {
    let without = described(THREE_ONE, &Wanted::default()).map(drop).unwrap_err();
    expect!["it does not name its server; add --base http://HOST:PORT"].assert_eq(&without);
    let from = Some("https://items.example:8443/docs/openapi.yaml".to_owned());
    let found = described(THREE_ONE, &Wanted { from, ..Wanted::default() }).unwrap();
    expect![[r#"
        https://items.example:8443
        left out: 1 request: a required parameter has no value that could be guessed
        API_KEY: the parameter api_key"#]]
    .assert_eq(&said(&found));
    expect![[r##"
        # The requests of a test, one JSON object a line. `benchwright mix check` shows them as they are sent.
        # guess: the weights: every request is as frequent as the others: the document says nothing of it

        # id = 42 is the document's
        # guess: part = 00000000-0000-4000-8000-000000000001: the document has no example of this string, uuid
        {"weight":1,"label":"GET /items/{id}/parts/{part}","target":"/api/items/42/parts/00000000-0000-4000-8000-000000000001?api_key=${env.API_KEY}"}
    "##]].assert_eq(&written(&found));
}

const TWO: &str = r##"{
  "swagger": "2.0", "host": "old.example", "basePath": "/v2", "schemes": ["http", "https"],
  "securityDefinitions": {"basic": {"type": "basic"}, "petstore_auth": {"type": "oauth2", "flow": "implicit"}},
  "paths": {"/find": {
    "get": {"security": [{"petstore_auth": ["read"]}], "parameters": [
      {"name": "tags", "in": "query", "required": true, "type": "array", "items": {"type": "string"}, "collectionFormat": "multi"},
      {"name": "max", "in": "query", "required": true, "type": "integer", "default": 7}]},
    "post": {"security": [{"basic": []}], "parameters": [{"name": "name", "in": "formData", "required": true, "type": "string"}]},
    "put": {"parameters": [{"in": "body", "name": "body", "schema": {"$ref": "#/definitions/T"}}]}}},
  "definitions": {"T": {"type": "object", "required": ["n"], "properties": {"n": {"type": "number"}}}}
}"##;

#[test]
fn a_document_of_swagger_2_is_read() {
    let found = described(TWO, &Wanted::default()).unwrap();
    expect![[r#"
        http://old.example (guess: the first of the document's 2 servers)
        not sent: 2 requests with another method than GET and HEAD, which may change data: in the mix they are comments; --writes sends them, too
        BASIC: the security scheme basic: NAME:PASSWORD in base 64
        PETSTORE_AUTH: the security scheme petstore_auth: a token"#]].assert_eq(&said(&found));
    expect![[r##"
        # The requests of a test, one JSON object a line. `benchwright mix check` shows them as they are sent.
        # guess: the weights: every request is as frequent as the others: the document says nothing of it

        # max = 7 is the document's
        # guess: tags = example: the document has no example of this string
        {"weight":1,"label":"GET /find","target":"/v2/find?tags=example&max=7","headers":{"Authorization":"Bearer ${env.PETSTORE_AUTH}"}}

        # Not sent. Remove the `#` before a `{` to send one; (NAME) is a secret: write it as a reference to a
        # variable of the environment, as a dollar sign with {env.NAME} behind it.

        # not sent: it may change data
        # guess: name = example: the document has no example of this string
        #{"weight":1,"label":"POST /find","method":"POST","target":"/v2/find","headers":{"Authorization":"Basic (BASIC)","Content-Type":"application/x-www-form-urlencoded"},"body":"name=example"}

        # not sent: it may change data
        # guess: the body: n: the document has no example of this number
        #{"weight":1,"label":"PUT /find","method":"PUT","target":"/v2/find","headers":{"Content-Type":"application/json"},"body":"{\"n\":1}"}
    "##]].assert_eq(&written(&found));
}

#[test]
fn what_is_wrong_with_a_document_is_said_with_its_place_and_remedy() {
    let why = |text: &str| described(text, &at("http://h")).map(drop).unwrap_err();
    let all = [
        "openapi: 4.0.0",
        "swagger: 1.2",
        "openapi: 3.0.0\npaths: {}",
        "openapi: 3.0.0\npaths:\n  /a: [",
        "{\"openapi\": \"3.0.0\",\n \"paths\": {,}",
        "openapi: 3.0.0\npaths: {/a: {post: {}}}",
        "openapi: 3.0.0\npaths: {/a: {trace: {}}}",
        "openapi: 3.0.0\npaths: {/a: {$ref: 'b.yaml'}}",
        "openapi: 3.0.0\npaths: {/a: 7}",
    ];
    let all: Vec<String> = all.iter().map(|text| why(text)).collect();
    expect![[r#"
        version 4.0.0 of OpenAPI is not read; convert the document to 3.0 or 3.1
        version 1.2 of OpenAPI is not read; convert the document to 3.0 or 3.1
        it has no `paths`, so there is nothing to request; name the document of the service, not a part of it
        line 3, column 7: unclosed bracket '[' at line 3, column 7; correct the YAML
        line 2, column 12: key must be a string at line 2 column 12; correct the JSON
        all its requests may change data, and are not sent by default; add --writes if the service may lose its data
        it has no request that could be sent
        it has no request that could be sent: left out: 1 request: a path that is described elsewhere (`$ref`): join the parts to one document first
        it has no request that could be sent: left out: 1 request: a path that is described elsewhere (`$ref`): join the parts to one document first"#]].assert_eq(&all.join("\n"));
    let latin = b"openapi: 3.0.0\ninfo: \xe9";
    let why =
        crate::read(crate::Kind::OpenApi, &mut &latin[..], &at("http://h")).map(drop).unwrap_err();
    expect!["byte 21: it is not UTF-8; save it as UTF-8"].assert_eq(&why);
}

#[test]
fn a_mix_has_so_many_requests_as_it_may_have() {
    let paths: Vec<String> = (0..300).map(|n| format!("\"/p{n}\":{{\"get\":{{}}}}")).collect();
    let text = format!("{{\"openapi\":\"3.0.0\",\"paths\":{{{}}}}}", paths.join(","));
    let found = described(&text, &at("http://h")).unwrap();
    expect![[r#"
        http://h
        not sent: 236 requests beyond the first 64, the most that a mix can have: there they are comments"#]]
    .assert_eq(&said(&found));
    let mix = written(&found);
    assert_eq!(mix.lines().filter(|line| line.starts_with('{')).count(), 64);
    assert!(mix.ends_with("\n# 36 more are not sent.\n"), "{}", &mix[mix.len() - 200..]);
}
