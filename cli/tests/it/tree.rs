//! Jobs of many processes: who failed first, and how.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::support::{Home, python, sh};

/// The failures that a report tells of, without what differs from run to run.
fn failures(home: &Home) -> Vec<(Value, Value, Value)> {
    let context = home.context();
    let failures = context["failures"].as_array().cloned().unwrap_or_default();
    let told = |failure: &Value| {
        (
            failure["rank"].clone(),
            failure["signal"].clone(),
            failure["code"].clone(),
        )
    };
    failures.iter().map(told).collect()
}

#[test]
fn each_worker_that_dies_is_told_of_in_order() {
    let home = Home::new();
    // A launcher as torchrun is one: it starts ranks, and ends the others when one has failed.
    home.run(&python(
        "
import os, signal, subprocess, sys, time
wait = 'import time; time.sleep(60)'
fail = 'import os, time; time.sleep(0.6); os.kill(os.getpid(), 11)'
ranks = [subprocess.Popen([sys.executable, '-c', fail if rank == 2 else wait], env={**os.environ, 'RANK': str(rank)})
         for rank in range(4)]
ranks[2].wait()
for rank in (0, 1, 3):
    ranks[rank].terminate()
    ranks[rank].wait()
    time.sleep(0.1)
sys.exit(1)
",
    ));
    let term = |rank: u32| (json!(rank), json!("SIGTERM"), Value::Null);
    let expected = [(json!(2), json!("SIGSEGV"), Value::Null), term(0), term(1), term(3)];
    // An interpreter may be a script whose helpers fail before it is one; on a busy machine they live long enough to be
    // seen.
    let of_ranks: Vec<_> = failures(&home)
        .into_iter()
        .filter(|(rank, ..)| !rank.is_null())
        .collect();
    assert_eq!(of_ranks, expected);
}

#[test]
fn a_container_whose_processes_are_led_from_outside_is_no_trouble() {
    let home = Home::new();
    let run = format!(
        "{} run --quiet -- sh -c 'kill -SEGV $$'; echo status $?",
        env!("CARGO_BIN_EXE_whycrash")
    );
    let mut container = home.isolated("unshare");
    if !rustix::process::geteuid().is_root() {
        container.args(["--user", "--map-root-user"]);
    }
    container.args(["--pid", "--fork", "--kill-child", "sh", "-c", &run]);
    let output = container.output().expect("util-linux has unshare");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("status 139"),
        "{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn the_first_rank_that_dies_is_what_the_report_is_about() {
    let home = Home::new();
    // The launcher says nothing, and the others only lose their peer.
    home.run(&python(
        "
import os, subprocess, sys
die = 'import os, time; time.sleep(0.5); os.kill(os.getpid(), 9)'
lose = 'import time; time.sleep(1.5); raise RuntimeError(\"Connection closed by peer [127.0.0.1]:1\")'
ranks = [subprocess.Popen([sys.executable, '-c', die if rank == 1 else lose], env={**os.environ, 'RANK': str(rank)})
         for rank in range(3)]
for rank in ranks:
    rank.wait()
sys.exit(1)
",
    ));
    let diagnosed = home
        .whycrash(&["diagnose", "--format", "json", "report"])
        .output()
        .expect("it runs");
    let document: Value = serde_json::from_slice(&diagnosed.stdout).expect("a document");
    let crash = &document["evidence"]["crash"];
    assert_eq!((&crash["rank"], &crash["signal"]), (&json!(1), &json!("SIGKILL")));
    let best = &document["findings"][0];
    // Where the control group counts kills for want of memory, it is certain that this was none.
    let is_counted = !document["evidence"]["context"]["oom_kills"].is_null();
    let expected = if is_counted { "op-terminated" } else { "kill-sigkill" };
    assert_eq!(best["cause"], expected, "{}", document["evidence"]["context"]);
    let explanation = best["explanation"].as_str().unwrap_or_default();
    assert!(
        explanation.contains("Rank 1 (pid ") && explanation.contains("SIGKILL"),
        "{explanation}"
    );
}

#[test]
fn a_worker_whose_parent_is_gone_is_told_of_too() {
    let home = Home::new();
    home.run(&sh(
        "sh -c 'RANK=7 sh -c \"sleep 0.6; exit 9\" & sleep 0.3' ; sleep 1; exit 1",
    ));
    assert!(
        failures(&home).contains(&(json!(7), Value::Null, json!(9))) || !kernel_tells_of_orphans(),
        "{:?}",
        home.context()["failures"]
    );
}

/// Linux 6.15 and newer.
fn kernel_tells_of_orphans() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    (numbers.next(), numbers.next()) >= (Some(6), Some(15))
}

#[test]
fn a_machine_without_room_for_another_process_still_runs_the_job() {
    let home = Home::new();
    // The limit does not bind root, which becomes somebody else; who may not look into the folder of the built program.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let whycrash = folder.path().join("whycrash");
    fs::copy(env!("CARGO_BIN_EXE_whycrash"), &whycrash).expect("a copy");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("a folder for everybody");
    let program = "
import os, resource, sys
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
os.execv(sys.argv[1], sys.argv[1:])
";
    let mut command = home.isolated("python3");
    command.args(["-c", program]).arg(&whycrash);
    command.args(["run", "--", "/bin/echo", "it runs"]);
    let output = command.output().expect("python3 runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "it runs\n", "{output:?}");
    assert!(output.status.success());
}
