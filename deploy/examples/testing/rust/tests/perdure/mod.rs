//! A running `perdure test-server` and the endpoint beside it. PERDURE names the program.
use restate_sdk::prelude::{Endpoint, HttpServer};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

pub struct Perdure {
    pub ingress: String,
    pub admin: String,
    server: Child,
    // Serves the endpoint until it is dropped.
    _runtime: Runtime,
}

impl Perdure {
    pub fn start(endpoint: Endpoint) -> Self {
        let program = std::env::var("PERDURE").unwrap_or_else(|_| "perdure".to_owned());
        let mut server = Command::new(program)
            .args(["test-server", "--skip-time", "manual"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("perdure starts");
        let mut line = String::new();
        BufReader::new(server.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let addresses: Value = serde_json::from_str(&line).expect("addresses");

        let runtime = Runtime::new().expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        runtime.spawn(HttpServer::new(endpoint).serve(listener));

        let url = |name: &str| addresses[name].as_str().expect("an address").to_owned();
        let (ingress, admin) = (url("ingress_url"), url("admin_url"));
        let perdure = Perdure { ingress, admin, server, _runtime: runtime };
        perdure.post(&format!("{}/deployments", perdure.admin), &json!({ "uri": format!("http://127.0.0.1:{port}") }));
        perdure
    }

    pub fn post(&self, url: &str, body: &Value) -> Value {
        let mut response = ureq::post(url).send_json(body).unwrap_or_else(|cause| panic!("{url}: {cause}"));
        response.body_mut().read_json().expect("JSON")
    }

    fn get(&self, path: &str) -> Value {
        let url = format!("{}{path}", self.admin);
        let mut response = ureq::get(&url).call().unwrap_or_else(|cause| panic!("{url}: {cause}"));
        response.body_mut().read_json().expect("JSON")
    }

    /// Moves time, and returns when all that became due has run.
    pub fn advance(&self, hours: u32) {
        self.post(&format!("{}/testing/clock", self.admin), &json!({ "hours": hours }));
    }

    pub fn crash_at(&self, step: &str, when: &str) {
        let fault = json!({ "kind": "crash", "step": step, "when": when });
        self.post(&format!("{}/testing/faults", self.admin), &fault);
    }

    /// How often the faults have happened.
    pub fn hits(&self) -> u64 {
        let faults = self.get("/testing/faults");
        faults["faults"].as_array().expect("a list").iter().filter_map(|fault| fault["hits"].as_u64()).sum()
    }

    /// The labels of the journal.
    pub fn steps(&self, invocation: &str) -> Vec<String> {
        let journal = self.get(&format!("/testing/journals/{invocation}"));
        let steps = journal["steps"].as_array().expect("a list");
        steps.iter().filter_map(|step| step["label"].as_str().map(str::to_owned)).collect()
    }
}

impl Drop for Perdure {
    fn drop(&mut self) {
        drop(self.server.stdin.take()); // The server ends with its input.
        let _ = self.server.wait();
    }
}
