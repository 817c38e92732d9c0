//! What the collector writes down about a crash.

use serde_json::json;

use crate::support::{Home, interpreters, names, sh};

#[test]
fn the_members_that_readers_rely_on_are_there() {
    let home = Home::new();
    home.run(&sh("exit 3"));
    let context = home.context();
    assert_eq!(context["whycrash_context"], 1);
    assert_eq!(context["command"], json!(["sh", "-c", "exit 3"]));
    assert_eq!(context["exit"], json!({"signal": null, "code": 3}));
    assert_eq!(context["cwd"], json!(home.work()));
    for member in [
        "host",
        "pid",
        "started",
        "ended",
        "environment",
        "os",
        "kernel",
        "cpu",
        "memory",
        "limits",
        "unavailable",
    ] {
        assert!(!context[member].is_null(), "{member}");
    }
    assert!(context["memory"]["total"].as_u64() > Some(1 << 20));
    assert!(context["limits"]["open_files"][0].is_string(), "{}", context["limits"]);
}

#[test]
fn secrets_are_not_written_down() {
    let home = Home::new();
    let mut command = home.whycrash(&[
        "run",
        "--output",
        "report",
        "--",
        "sh",
        "-c",
        "exit 1",
        "--api-key",
        "argument-secret",
    ]);
    command
        .env("HF_TOKEN", "hub-secret")
        .env("NCCL_DEBUG", "INFO")
        .env("UNRELATED", "unrelated-secret")
        .env("WORLD_SIZE", "4");
    command.output().expect("it runs");
    let context = home.context();
    assert!(!context.to_string().contains("-secret"), "{context}");
    assert_eq!(context["environment"]["NCCL_DEBUG"], "INFO");
    assert_eq!(context["environment"]["HF_TOKEN"], "[removed]");
    assert_eq!(context["world_size"], 4);
}

#[test]
fn the_schedulers_job_is_told() {
    let home = Home::new();
    let mut command = home.whycrash(&["run", "--output", "report", "--", "sh", "-c", "exit 1"]);
    command
        .env("SLURM_JOB_ID", "4712")
        .env("SLURM_RESTART_COUNT", "1")
        .env("SLURM_PROCID", "3");
    command.env("SLURM_NTASKS", "8").output().expect("it runs");
    let context = home.context();
    assert_eq!(context["job"], "4712");
    assert_eq!(
        context["scheduler"],
        json!({"name": "slurm", "job": "4712", "attempt": "1"})
    );
    assert_eq!(context["rank"], 3);
}

#[test]
fn the_jobs_python_is_described_without_running_it() {
    let home = Home::new();
    home.file(
        "venv/pyvenv.cfg",
        "home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.12.4\n",
    );
    home.file(
        "venv/lib/python3.12/site-packages/torch-2.15.0+cu128.dist-info/METADATA",
        "",
    );
    home.file(
        "venv/lib/python3.12/site-packages/My_Package-0.1.dist-info/METADATA",
        "",
    );
    let python = home.file("venv/bin/python", "#!/bin/sh\nexit 3\n");
    let script = home.file("venv/bin/torchrun", format!("#!{}\n", python.display()));
    let made_executable = home
        .isolated("chmod")
        .arg("+x")
        .args([&python, &script])
        .status()
        .expect("chmod runs");
    assert!(made_executable.success());
    for program in ["venv/bin/python", "venv/bin/torchrun"] {
        let job = home.work().join(program).display().to_string();
        let output = home.run(&[&job, "train.py"]);
        assert_eq!(output.status.code(), Some(3), "{program}");
        let context = home.context();
        assert_eq!(
            context["python"],
            json!({"executable": python, "version": "3.12.4"}),
            "{program}"
        );
        assert_eq!(
            context["packages"],
            json!({"my-package": "0.1", "torch": "2.15.0+cu128"}),
            "{program}"
        );
        std::fs::remove_dir_all(home.work().join("report")).expect("the report goes");
    }
}

/// A job that runs long enough to be seen.
const SEEN: &str = "import time; time.sleep(0.5); raise SystemExit(3)";

/// Makes a folder an environment of a real interpreter, with one package of its own; its `bin/python`.
fn environment(home: &Home, folder: &str) -> std::path::PathBuf {
    let real = interpreters().pop().expect("a Python");
    let real = std::fs::canonicalize(real).expect("a Python");
    let link = home.work().join(folder).join("bin/python");
    std::fs::create_dir_all(link.parent().expect("a folder")).expect("room");
    std::os::unix::fs::symlink(&real, &link).expect("a link");
    let version = real.file_name().expect("a name").to_string_lossy().into_owned();
    let base = real.parent().expect("a folder").display();
    home.file(
        &format!("{folder}/pyvenv.cfg"),
        format!("home = {base}\ninclude-system-site-packages = false\n"),
    );
    home.file(
        &format!("{folder}/lib/{version}/site-packages/only_here-1.0.dist-info/METADATA"),
        "",
    );
    link
}

#[test]
fn the_python_that_ran_is_described_whatever_stands_before_it() {
    let home = Home::new();
    let link = environment(&home, "pyenv/versions/3.99.1");
    let script = |path: &str, text: String| {
        let path = home.file(path, text);
        let made = home
            .isolated("chmod")
            .arg("+x")
            .arg(&path)
            .status()
            .expect("chmod runs");
        assert!(made.success());
        path.display().to_string()
    };
    let shim = script(
        "pyenv/shims/python",
        format!("#!/bin/sh\nexec {} \"$@\"\n", link.display()),
    );
    let wrapper = script("run.sh", format!("#!/bin/sh\n{shim} -c '{SEEN}'\n"));
    // What poetry and conda do: a Python of their own starts that of the project.
    let launcher = home.file(
        "poetry",
        format!(
            "import subprocess, sys; sys.exit(subprocess.call(['{}', '-c', '{SEEN}']))",
            link.display()
        ),
    );
    let launcher = launcher.display().to_string();
    let own = interpreters().pop().expect("a Python");
    for job in [vec![shim.as_str(), "-c", SEEN], vec![&wrapper], vec![&own, &launcher]] {
        let output = home.run(&job);
        assert_eq!(output.status.code(), Some(3), "{job:?}");
        let context = home.context();
        assert_eq!(context["python"]["executable"], json!(link), "{job:?}");
        assert_eq!(
            context["packages"],
            json!({"only-here": "1.0"}),
            "{job:?}: nobody else's packages"
        );
        std::fs::remove_dir_all(home.work().join("report")).expect("the report goes");
    }
}

#[test]
fn a_shim_that_was_too_short_to_be_seen_stands_for_the_version_it_chooses() {
    let home = Home::new();
    let python = home.file("pyenv/versions/3.99.1/bin/python", "#!/bin/sh\nexit 3\n");
    home.file(
        "pyenv/versions/3.99.1/lib/python3.99/site-packages/only_here-1.0.dist-info/METADATA",
        "",
    );
    let shim = home.file("pyenv/shims/python", "#!/bin/sh\nexit 3\n");
    home.file(".python-version", "3.99.1\n");
    for path in [&python, &shim] {
        assert!(
            home.isolated("chmod")
                .arg("+x")
                .arg(path)
                .status()
                .expect("chmod runs")
                .success()
        );
    }
    let shim = shim.display().to_string();
    assert_eq!(home.run(&[&shim, "train.py"]).status.code(), Some(3));
    assert_eq!(home.context()["packages"], json!({"only-here": "1.0"}));
}

#[test]
fn files_that_frameworks_leave_are_kept() {
    let home = Home::new();
    home.file("old.pickle", "from an earlier run");
    std::thread::sleep(std::time::Duration::from_millis(100));
    let prefix = home.work().join("trace_");
    let mut command = home.whycrash(&["run", "--output", "report", "--"]);
    command.args(sh(
        "echo a > trace_0; echo b > trace_11; echo c > snapshot.pickle; echo d > core.cuda.node1.77; exit 1",
    ));
    command
        .env("TORCH_FR_DUMP_TEMP_FILE", prefix)
        .output()
        .expect("it runs");
    let kept = names(&home.work().join("report"));
    assert_eq!(
        kept,
        [
            "context.json",
            "core.cuda.node1.77",
            "snapshot.pickle",
            "trace_0",
            "trace_11"
        ]
    );
    assert!(home.work().join("snapshot.pickle").exists(), "the job's own files stay");
}
