//! Evidence that a job leaves because `run` asks for it in its environment.

use serde_json::{Value, json};

use crate::support::{Home, errors, interpreters, sh};

/// A PyTorch that has no GPU, and says what is asked of it. It is loaded like the real one: `torch.cuda` is imported by
/// `torch`, and CUDA is initialised later, with what waits for that.
const TORCH: [(&str, &str); 4] = [
    ("torch/__init__.py", "from . import _C\nfrom . import cuda\n"),
    (
        "torch/_C.py",
        "observers = []\n_cuda_attach_out_of_memory_observer = observers.append\n",
    ),
    (
        "torch/cuda/__init__.py",
        "from . import memory\nqueued = []\n_lazy_call = queued.append\ndef init():\n    for call in queued: call()\n",
    ),
    (
        "torch/cuda/memory.py",
        "recorded = []\ndef _record_memory_history(**asked): recorded.append(asked)\n\
         def _dump_snapshot(path):\n    import pickle\n    pickle.dump({'segments': []}, open(path, 'wb'))\n",
    ),
];

/// Runs out of memory three times, and dies of the last.
const OUT_OF_MEMORY: &str = "
import sys
assert 'torch' not in sys.modules
import torch
assert torch.cuda.memory.recorded == []
torch.cuda.init()
print(torch.cuda.memory.recorded)
for _ in range(3):
    for observer in torch._C.observers: observer(0, 1, 2, 3)
sys.exit(5)
";

#[test]
fn what_the_driver_says_is_kept_and_leaves_no_file_of_its_own() {
    let home = Home::new();
    let said = "[22:21:32.099][25642][CUDA][E][cuMemAlloc_v2] out of memory";
    let script = format!("echo '{said}' > \"$CUDA_LOG_FILE\"; exit 3");
    let mut run = home.whycrash(&["run", "--output", "report", "--", "sh", "-c", &script]);
    let temporary = home.work().join("tmp");
    std::fs::create_dir(&temporary).expect("a folder");
    let ended = run.env("TMPDIR", &temporary).output().expect("it runs");
    assert_eq!(ended.status.code(), Some(3), "{}", errors(&ended));
    let kept = std::fs::read_to_string(home.work().join("report/cuda.log")).expect("it was kept");
    assert_eq!(kept, format!("{said}\n"));
    assert_eq!(
        home.context()["armed"],
        json!(["faulthandler", "cuda-log", "flight-recorder"])
    );
    assert_eq!(std::fs::read_dir(temporary).expect("a folder").count(), 0);
}

#[test]
fn snapshots_of_memory_are_written_when_it_runs_out_and_end_up_in_the_report() {
    for interpreter in interpreters() {
        let home = Home::new();
        for (name, text) in TORCH {
            home.file(name, text);
        }
        let temporary = home.work().join("tmp");
        std::fs::create_dir(&temporary).expect("a folder");
        let arguments = [
            "run",
            "--arm",
            "memory-history",
            "--output",
            "report",
            "--",
            &interpreter,
            "-c",
            OUT_OF_MEMORY,
        ];
        let mut run = home.whycrash(&arguments);
        let ended = run
            .env("RANK", "2")
            .env("TMPDIR", &temporary)
            .output()
            .expect("it runs");
        assert_eq!(ended.status.code(), Some(5), "{interpreter}: {}", errors(&ended));
        let said = String::from_utf8_lossy(&ended.stdout).into_owned();
        assert_eq!(said, "[{'max_entries': 100000, 'stacks': 'python'}]\n", "{interpreter}");
        let pid = home.context()["pid"].clone();
        let kept = std::fs::read_dir(home.work().join("report"))
            .expect("a report")
            .flatten();
        let mut snapshots: Vec<String> = kept
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| name.ends_with(".pickle"))
            .collect();
        snapshots.sort();
        assert_eq!(
            snapshots,
            [1, 2].map(|number| format!("oom.2.{pid}.{number}.pickle")),
            "{interpreter}"
        );
        assert_eq!(
            std::fs::read_dir(temporary).expect("a folder").count(),
            0,
            "nothing is left behind"
        );
    }
}

#[test]
fn a_job_with_or_without_a_hook_of_its_own_does_not_notice_ours() {
    let look = "import sys; print('sitecustomize' in sys.modules, getattr(sys, 'mine', 0), sys.path)";
    let hooks = [
        None,
        Some("import sys; sys.stderr.write('mine\\n'); sys.mine = 1"),
        Some("raise ValueError('of my own')"),
        Some("import not_there"),
    ];
    for interpreter in interpreters() {
        for hook in hooks {
            for options in [&[][..], &["-S"], &["-I"]] {
                let home = Home::new();
                if let Some(hook) = hook {
                    home.file("own/sitecustomize.py", hook);
                }
                let job = [&[interpreter.as_str()], options, &["-c", look]].concat();
                let outcome = |prefix: &[&str]| {
                    let words = [prefix, &job].concat();
                    let (program, arguments) = words.split_first().expect("a program");
                    let mut command = home.isolated(program);
                    command.args(arguments).env("PYTHONPATH", home.work().join("own"));
                    let output = command.output().expect("it runs");
                    let said = String::from_utf8_lossy(&output.stdout).into_owned();
                    // With -S no hook is run, and nobody takes the folder out again.
                    let is_ours = |entry: &&str| options == ["-S"] && entry.contains("whycrash-run-");
                    let said: Vec<String> = said
                        .split(", ")
                        .filter(|entry| !is_ours(entry))
                        .map(str::to_owned)
                        .collect();
                    (output.status.code(), said, errors(&output))
                };
                let run = [
                    env!("CARGO_BIN_EXE_whycrash"),
                    "run",
                    "--arm",
                    "memory-history",
                    "--no-arm",
                    "faulthandler",
                    "--",
                ];
                assert_eq!(outcome(&run), outcome(&[]), "{interpreter} {options:?} {hook:?}");
            }
        }
    }
}

#[test]
fn the_gpu_core_is_asked_for_lightly_and_never_by_default() {
    let home = Home::new();
    let variables = |arguments: &[&str]| -> Vec<String> {
        let words = [&["run"], arguments, &["--", "env"]].concat();
        let output = home.whycrash(&words).output().expect("it runs").stdout;
        let text = String::from_utf8_lossy(&output).into_owned();
        text.lines()
            .filter(|line| line.contains("COREDUMP"))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(variables(&[]), Vec::<String>::new());
    let armed = variables(&["--arm", "gpu-core"]);
    assert!(
        armed.contains(&"CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1".to_owned()),
        "{armed:?}"
    );
    assert!(
        armed.iter().any(|variable| variable.ends_with("/core.cuda.%h.%p")),
        "{armed:?}"
    );
    assert!(
        !armed.iter().any(|variable| variable.contains("skip_abort")),
        "{armed:?}"
    );
    let script = "folder=${CUDA_COREDUMP_FILE%/*}; echo x > \"$folder/core.cuda.node.7\"; exit 1";
    let mut run = home.whycrash(&["run", "--arm", "gpu-core", "--output", "report", "--"]);
    run.args(sh(script)).output().expect("it runs");
    assert_eq!(
        std::fs::read(home.work().join("report/core.cuda.node.7")).expect("it was taken"),
        b"x\n"
    );
}

#[test]
fn settings_arm_and_flags_win() {
    let home = Home::new();
    let settings = home.file("config.toml", "no_arm = [\"cuda-log\", \"flight-recorder\"]\n");
    let armed = |flags: &[&str]| -> Value {
        let words = [&["run", "--output", "report"], flags, &["--", "false"]].concat();
        let mut run = home.whycrash(&words);
        run.env("WHYCRASH_CONFIG", &settings).output().expect("it runs");
        let armed = home.context()["armed"].clone();
        std::fs::remove_dir_all(home.work().join("report")).expect("it was there");
        armed
    };
    assert_eq!(armed(&[]), json!(["faulthandler"]));
    assert_eq!(
        armed(&["--arm", "cuda-log", "--no-arm", "faulthandler"]),
        json!(["cuda-log"])
    );
}
