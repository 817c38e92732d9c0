//! What schedulers are given to run: cli/packaging/schedulers.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Answer, Home, Server, accept, errors, sh};

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("packaging/schedulers")
        .join(name)
}

/// With the program on its PATH, as on a node.
fn on_a_node(home: &Home, name: &str) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_whycrash")).parent().expect("a folder");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = home.isolated("sh");
    command
        .arg(script(name))
        .env("PATH", path)
        .env("WHYCRASH_STATE", home.work().join("state"));
    command
}

#[test]
fn what_a_task_left_is_sent_by_the_epilog() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("not looked at: an epilog runs as root");
        return;
    }
    let home = Home::new();
    let server = Server::start(accept);
    let prolog = on_a_node(&home, "slurm-task-prolog.sh")
        .env("WHYCRASH_SERVER", &server.address)
        .output()
        .expect("sh runs");
    assert!(prolog.status.success(), "{}", errors(&prolog));
    let said = String::from_utf8(prolog.stdout).expect("text");
    let variables: Vec<(&str, &str)> = said
        .lines()
        .map(|line| {
            line.strip_prefix("export ")
                .and_then(|rest| rest.split_once('='))
                .expect("as Slurm wants it")
        })
        .collect();
    assert_eq!(variables.len(), 2, "{said}");
    // The server is away while the task runs, and the process that goes on trying is ended with it.
    let away = Server::start(|_| Answer(503, "", "{}".to_owned()));
    let mut task = home.whycrash(&["run", "--quiet", "--no-diagnosis", "--output", "report", "--"]);
    task.args(sh("exit 4"))
        .envs(variables.iter().copied())
        .env("WHYCRASH_SERVER", &away.address);
    assert_eq!(task.status().expect("it runs").code(), Some(4));
    let spool = home.work().join("state/0/whycrash/spool");
    let entry = || {
        let entries = std::fs::read_dir(&spool)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path());
        entries
            .into_iter()
            .find(|path| path.extension().is_some_and(|extension| extension == "json"))
    };
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let waiting = loop {
        if let Some(path) = entry() {
            break path;
        }
        assert!(std::time::Instant::now() < deadline, "nothing waits");
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    // What waits is for the server that was away; now it is somewhere else.
    let text = std::fs::read_to_string(&waiting)
        .expect("an entry")
        .replace(&away.address, &server.address);
    std::fs::write(home.work().join("entry"), text).expect("a file");
    std::fs::rename(home.work().join("entry"), waiting.with_file_name("moved.json")).expect("it is renamed");
    let epilog = on_a_node(&home, "slurm-epilog.sh")
        .env("SLURM_JOB_UID", "0")
        .env("SLURM_JOB_GID", "0")
        .output();
    assert!(epilog.expect("sh runs").status.success());
    assert!(
        server.lines().iter().any(|line| line == "POST /api/v1/reports"),
        "{:?}",
        server.lines()
    );
}

#[test]
fn an_epilog_without_anything_to_send_gives_the_node_back() {
    let home = Home::new();
    let epilog = on_a_node(&home, "slurm-epilog.sh")
        .env("SLURM_JOB_UID", "4711")
        .env("SLURM_JOB_GID", "4711")
        .output();
    assert!(epilog.expect("sh runs").status.success());
}
