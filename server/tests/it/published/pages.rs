//! What the pages of published packages say: shown, searched, folded, and taken into account.

use reqwest::StatusCode;
use reqwest::header::{ETAG, IF_NONE_MATCH};
use serde_json::{Value, json};

use super::{LICENCE, called, citing, licences, listed, naming, package, package_of, page, publish};
use crate::support::{Server, problem};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cause_of_a_published_plugin_is_found_by_its_page() {
    let server = Server::start().await;
    publish(&server, licences("1.0.0", "The seats of the simulator ran out")).await;
    let id = server.send(json!({}), &[("train.log", LICENCE.as_bytes())]).await;
    let document = server.processed(&id).await;
    let finding = &document["findings"][0];
    assert_eq!(finding["title"], "The seats of the simulator ran out");
    assert_eq!(finding["fixes"][0]["summary"], "Ask the licence desk");
    for query in ["seats simulator", "cause:team-licence", "plugin:team"] {
        let found = server.find(query).await;
        assert_eq!(found["hits"][0]["id"], id, "{query}: {found}");
    }
    let causes = server.json("/api/v1/causes").await;
    let is_counted = |cause: &&Value| cause["id"] == "team-licence" && cause["reports"] == 1;
    assert!(
        causes["causes"]
            .as_array()
            .unwrap()
            .iter()
            .any(|cause| is_counted(&cause))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_page_of_a_package_leads_to_is_folded() {
    let server = Server::start().await;
    let log = format!(
        "step 1 loss 2.9\nTraceback (most recent call last):\n  File \"train.py\", line 7, in <module>\n    checkout()\n\
         RuntimeError: licence checkout failed\n{}",
        crate::support::traceback("20.00")
    );
    let send = async |host: &str| {
        let id = server
            .send(json!({"host": host}), &[("train.log", log.as_bytes())])
            .await;
        let document = server.processed(&id).await;
        let findings = document["findings"].as_array().unwrap().iter();
        findings
            .map(|finding| finding["cause"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let alone = send("a").await;
    assert!(alone.iter().any(|cause| cause.starts_with("oom-")), "{alone:?}");
    let leads_to = |cause: &String| format!("[[leads_to]]\ncause = {cause:?}\nsays = 'CUDA out of memory'\n");
    let leads_to: String = alone.iter().map(leads_to).collect();
    let own = page("team-licence", "No licence", &leads_to);
    publish(
        &server,
        package(&citing("1.0.0", 5, String::new()), "team-licence", &own),
    )
    .await;
    assert_eq!(send("b").await, ["team-licence"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_changed_changes_the_tag_of_documents() {
    let server = Server::start().await;
    publish(&server, licences("1.0.0", "No licence")).await;
    let id = server.send(json!({}), &[("train.log", LICENCE.as_bytes())]).await;
    server.processed(&id).await;
    let path = format!("/api/v1/reports/{id}");
    let answer = server.get(&path).send().await.unwrap();
    let tag = answer.headers()[ETAG].clone();
    let again = server.get(&path).header(IF_NONE_MATCH, &tag).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    publish(&server, licences("1.0.1", "All licences are in use")).await;
    let changed = server.get(&path).header(IF_NONE_MATCH, &tag).send().await.unwrap();
    assert_eq!(changed.status(), StatusCode::OK);
    let document: Value = changed.json().await.unwrap();
    assert_eq!(document["findings"][0]["title"], "All licences are in use");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_plugin_keeps_another_from_taking_part() {
    let server = Server::start().await;
    // Of both names the id is a cause of their own.
    let own = page("team-x-seats", "No licence", "");
    let team = package(&naming("team", "1.0.0", "team-x-seats"), "team-x-seats", &own);
    publish(&server, team).await;
    let stranger = naming("team-x", "1.0.0", "team-x-seats");
    let stranger = package_of("team-x", &stranger, "team-x-seats", &own);
    let refused = server.post("/api/v1/plugins").body(stranger).send().await.unwrap();
    let refused = problem(refused, 422, "plugin-refused").await;
    let detail = refused["detail"].as_str().unwrap();
    assert!(
        detail.contains("it keeps the plugin team from taking part: it brings a page for team-x-seats"),
        "{detail}"
    );
    let team = listed(&server).await;
    assert_eq!(
        (&team["problem"], &team["version"]),
        (&Value::Null, &json!("1.0.0")),
        "{team}"
    );
    assert_eq!(called(&server, "team-x").await, Vec::<Value>::new());
}
