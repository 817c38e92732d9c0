//! Tracebacks of Python, however they are printed.

use whycrash_evidence::model::{EventPayload, FrameKind, Place};

use super::{evidence, functions};
use crate::support::exceptions;

#[test]
fn a_traceback_is_a_stack_innermost_first() {
    let evidence = evidence(
        "epoch 1\nTraceback (most recent call last):\n  File \"/a/train.py\", line 9, in <module>\n    main(1)\n    ~~~~^^^\n  File \"/a/train.py\", line 7, in main\n    raise ValueError(\n    ...<2 lines>...\n    )\nValueError: bad batch\nbye\n",
    );
    let [exception] = exceptions(&evidence)[..] else {
        panic!("{evidence:#?}")
    };
    assert_eq!(
        (exception.exception.as_str(), exception.message.as_str()),
        ("ValueError", "bad batch")
    );
    let [thread] = &evidence.threads[..] else {
        panic!("{evidence:#?}")
    };
    assert_eq!(functions(thread), ["main", "<module>"]);
    assert!(thread.crashed);
    let frame = &thread.frames[0];
    assert_eq!(
        (frame.file.as_deref(), frame.line, frame.kind),
        (Some("/a/train.py"), Some(7), FrameKind::Python)
    );
    assert_eq!(frame.at, Some(Place::Line([6, 6])));
    assert_eq!(evidence.timeline[0].at, Some(Place::Line([2, 10])));
}

#[test]
fn chains_say_how_one_exception_follows_from_another() {
    let one = |name: &str| {
        format!("Traceback (most recent call last):\n  File \"x.py\", line 1, in {name}\n    y()\n{name}Error: m\n")
    };
    let text = one("A")
        + "\nThe above exception was the direct cause of the following exception:\n\n"
        + &one("B")
        + "\nDuring handling of the above exception, another exception occurred:\n\n"
        + &one("C");
    let evidence = evidence(&text);
    let found: Vec<_> = exceptions(&evidence)
        .iter()
        .map(|e| (e.exception.as_str(), e.relation.as_deref()))
        .collect();
    assert_eq!(
        found,
        [("AError", Some("cause")), ("BError", Some("context")), ("CError", None)]
    );
    let crashed: Vec<bool> = evidence.threads.iter().map(|thread| thread.crashed).collect();
    assert_eq!(crashed, [false, false, true]);
}

#[test]
fn messages_of_several_lines_are_kept_where_they_are_known() {
    let text = "Traceback (most recent call last):\n  File \"x.py\", line 1, in f\n    y()\nRuntimeError: CUDA error: device-side assert triggered\nCUDA kernel errors might be asynchronously reported at some other API call.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n\nnext run starts\n";
    let evidence = evidence(text);
    assert_eq!(exceptions(&evidence)[0].message.lines().count(), 3);
    assert_eq!(evidence.timeline[0].at, Some(Place::Line([1, 6])));
}

#[test]
fn what_stands_around_a_traceback_says_whose_it_is() {
    let body = "Traceback (most recent call last):\n  File \"x.py\", line 1, in f\n    y()\nKeyError: 'k'\n";
    for (before, process, ignored) in [
        (
            "Exception in thread Thread-3 (_pin_memory_loop):\n",
            Some("Thread-3 (_pin_memory_loop)"),
            false,
        ),
        ("Process SpawnProcess-1:\n", Some("Process SpawnProcess-1"), false),
        ("Exception ignored in: <function X.__del__ at 0x7f>\n", None, true),
        (
            "ERROR:asyncio:Task exception was never retrieved\nfuture: <Task finished coro=<push() done>>\n",
            None,
            true,
        ),
        ("ERROR:root:could not save\n", None, false),
        ("\r 50%|#####     | 5/10 [00:00<00:00]", None, false),
    ] {
        let evidence = evidence(&format!("{before}{body}"));
        let [exception] = exceptions(&evidence)[..] else {
            panic!("{before:?} gave {evidence:#?}")
        };
        assert_eq!(
            (exception.process.as_deref(), exception.ignored),
            (process, ignored),
            "{before:?}"
        );
        assert_eq!(evidence.threads[0].crashed, !ignored);
    }
}

#[test]
fn a_workers_own_traceback_inside_the_parents_is_a_stack_of_its_own() {
    let evidence = evidence(
        "Traceback (most recent call last):\n  File \"t.py\", line 1, in main\n    x\n  File \"torch/_utils.py\", line 4, in reraise\n    raise exception\nValueError: Caught ValueError in DataLoader worker process 1.\nOriginal Traceback (most recent call last):\n  File \"w.py\", line 3, in fetch\n    y\n  File \"d.py\", line 2, in decode\n    z\nValueError: truncated JPEG\n",
    );
    let relations: Vec<_> = exceptions(&evidence)
        .iter()
        .map(|exception| exception.relation.as_deref())
        .collect();
    assert_eq!(relations, [Some("original"), None]);
    assert_eq!(functions(&evidence.threads[1]), ["decode", "fetch"]);
}

#[test]
fn groups_have_a_stack_per_member() {
    let text = "  + Exception Group Traceback (most recent call last):\n  |   File \"g.py\", line 3, in <module>\n  |     raise ExceptionGroup('outer', es)\n  | ExceptionGroup: outer (2 sub-exceptions)\n  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n    |   File \"g.py\", line 2, in f\n    |     raise x\n    | ValueError: one\n    +---------------- 2 ----------------\n    | TypeError: two\n    +------------------------------------\n";
    let evidence = evidence(text);
    let found: Vec<_> = exceptions(&evidence)
        .iter()
        .map(|e| (e.exception.as_str(), e.relation.as_deref()))
        .collect();
    assert_eq!(
        found,
        [
            ("ExceptionGroup", Some("group")),
            ("ValueError", None),
            ("TypeError", None)
        ]
    );
    assert!(evidence.threads[1].crashed);
}

#[test]
fn deep_recursion_is_counted_not_expanded() {
    let mut text = "Traceback (most recent call last):\n".to_owned();
    text += &"  File \"r.py\", line 2, in walk\n    walk()\n".repeat(3);
    text += "  [Previous line repeated 996 more times]\nRecursionError: maximum recursion depth exceeded\n";
    let thread = &evidence(&text).threads[0];
    assert_eq!((thread.frames.len(), thread.frames_omitted), (3, Some(996)));
}

#[test]
fn syntax_errors_have_no_function() {
    let text = "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    import b\n  File \"b.py\", line 3\n    def f(:\n          ^\nSyntaxError: invalid syntax\n";
    let evidence = evidence(text);
    assert_eq!(functions(&evidence.threads[0]), ["?", "<module>"]);
    assert_eq!(exceptions(&evidence)[0].message, "invalid syntax");
}

#[test]
fn interleaved_ranks_are_untangled() {
    let lines = |rank: u32| {
        let lines = [
            "Traceback (most recent call last):".to_owned(),
            format!("  File \"train.py\", line {}, in step{rank}", 10 + rank),
            "    loss.backward()".to_owned(),
            format!("ValueError: rank {rank} failed"),
            format!("second line of {rank}"),
        ];
        lines.map(|line| format!("[rank{rank}]: {line}\n"))
    };
    let text: String = lines(0)
        .into_iter()
        .zip(lines(1))
        .zip(lines(2))
        .flat_map(|((a, b), c)| [a, b, c])
        .collect();
    let evidence = evidence(&text);
    let mut found: Vec<_> = exceptions(&evidence)
        .iter()
        .map(|exception| exception.message.clone())
        .collect();
    found.sort();
    let expected = [0, 1, 2].map(|rank| format!("rank {rank} failed\nsecond line of {rank}"));
    assert_eq!(found, expected);
    for thread in &evidence.threads {
        assert_eq!(functions(thread), [format!("step{}", thread.rank.unwrap())]);
    }
}

#[test]
fn every_launchers_tags_are_taken_off() {
    let body = [
        "Traceback (most recent call last):",
        "  File \"x.py\", line 1, in f",
        "    y()",
        "KeyError: 'k'",
    ];
    for (tag, rank, pid) in [
        ("[rank3]: ", Some(3), None),
        ("[default0]:", None, None),
        ("[trainer1]:", None, None),
        ("[1,5]<stderr>:", Some(5), None),
        ("[prterun-gpu01-511@1,6]<stderr>: ", Some(6), None),
        ("gpu-17: [rank22]: ", Some(22), None),
        ("gpu-17: ", None, None),
        ("3: ", None, None),
        (" 3: ", None, None),
        ("rank7: ", Some(7), None),
        ("10:21:07.250 [rank4]: ", Some(4), None),
        ("10:21:07 ", None, None),
        ("10:21:07  ", None, None),
        ("[11]:", Some(11), None),
        ("[11]: ", Some(11), None),
        ("[trt_node-1] ", None, None),
        ("2026-11-21 09:53:46:pipe.stage_2: INFO - ", None, None),
        ("[pod/train-worker-0/pytorch] ", None, None),
        ("trainer-1  | ", None, None),
        ("(RayTrainWorker pid=77, ip=10.0.0.1) ", None, Some(77)),
        (
            "(EngineCore_DP0 pid=78) ERROR 08-06 12:00:00 [core.py:700] ",
            None,
            Some(78),
        ),
        ("2026-11-21T09:53:46.123456789Z stderr F ", None, None),
        ("2026-11-21 09:53:46,123 ", None, None),
        ("Nov 21 09:53:46 node1 python[79]: ", None, Some(79)),
        ("\u{1b}[31m", None, None),
    ] {
        let text: String = body.iter().map(|line| format!("{tag}{line}\n")).collect();
        let evidence = evidence(&text);
        let [exception] = exceptions(&evidence)[..] else {
            panic!("{tag:?} gave {evidence:#?}")
        };
        assert_eq!(exception.message, "'k'", "{tag:?}");
        assert_eq!(
            (evidence.timeline[0].rank, evidence.timeline[0].pid),
            (rank, pid),
            "{tag:?}"
        );
        assert_eq!(functions(&evidence.threads[0]), ["f"], "{tag:?}");
    }
}

#[test]
fn a_traceback_whose_header_is_lost_is_one_when_it_names_an_error() {
    let body =
        "  File \"/a/train.py\", line 9, in main\n    step()\n  File \"/a/train.py\", line 7, in step\n    x / 0\n";
    for tag in ["", "[rank2]: "] {
        let text: String = format!("{body}ZeroDivisionError: division by zero\nbye\n")
            .lines()
            .map(|line| format!("{tag}{line}\n"))
            .collect();
        let evidence = evidence(&text);
        let [exception] = exceptions(&evidence)[..] else {
            panic!("{evidence:#?}")
        };
        assert_eq!(exception.message.lines().next(), Some("division by zero"));
        assert_eq!(functions(&evidence.threads[0]), ["step", "main"]);
        assert!(evidence.threads[0].crashed);
    }
    for after in ["", "Epoch: 3\n", "saved the stack above\n"] {
        let evidence = evidence(&format!("{body}{after}"));
        assert!(
            exceptions(&evidence).is_empty() && evidence.threads.is_empty(),
            "{after}"
        );
    }
}

#[test]
fn a_message_that_ends_in_a_colon_goes_on() {
    let evidence = evidence(
        "Traceback (most recent call last):\n  File \"t.py\", line 1, in f\n    g()\nacme.CompilerFailed: backend='fast' raised:\nImportError: cannot import name 'key'\nall done\n",
    );
    let [exception] = exceptions(&evidence)[..] else {
        panic!("{evidence:#?}")
    };
    assert_eq!(
        exception.message,
        "backend='fast' raised:\nImportError: cannot import name 'key'"
    );
}

#[test]
fn a_traceback_as_a_message_is_the_workers_own() {
    let evidence = evidence(
        "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    for batch in loader:\nKeyError: Traceback (most recent call last):\n  File \"loader.py\", line 8, in worker\n    fetch(1)\nKeyError: 'mask'\n",
    );
    let [brought, own] = exceptions(&evidence)[..] else {
        panic!("{evidence:#?}")
    };
    assert_eq!(brought.relation.as_deref(), Some("original"));
    assert_eq!((own.message.as_str(), own.relation.as_deref()), ("'mask'", None));
}

#[test]
fn tracebacks_drawn_in_a_box_are_stacks() {
    let text = "\
╭──────────────── Traceback (most recent call last) ────────────────╮
│ /home/ada/run.py:41 in <module>                                   │
│                                                                   │
│   38                                                              │
│ ❱ 41 │   main()                                                   │
│                                                                   │
│ /home/ada/.venv/lib/python3.12/site-packages/acme/loops/train.py: │
│ 209 in fit                                                        │
│                                                                   │
│ ❱ 209 │   loss = self.model(batch)                                │
╰───────────────────────────────────────────────────────────────────╯
OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU
1; 23.50 GiB total capacity; 20.00 GiB already allocated; 1.00 GiB
free; 21.00 GiB reserved in total by PyTorch)
epoch 3 was the last
";
    let evidence = evidence(text);
    let [exception] = exceptions(&evidence)[..] else {
        panic!("{evidence:#?}")
    };
    assert_eq!(exception.exception, "OutOfMemoryError");
    assert!(
        exception.message.ends_with("21.00 GiB reserved in total by PyTorch)"),
        "{exception:?}"
    );
    assert_eq!(evidence.timeline[0].at, Some(Place::Line([1, 14])));
    let EventPayload::CudaOom(oom) = &evidence.timeline[1].payload else {
        panic!("{evidence:#?}")
    };
    assert_eq!((oom.gpu, oom.free), (Some(1), Some(1 << 30)));
    assert_eq!(evidence.timeline[1].at, Some(Place::Line([12, 14])));
    assert_eq!(functions(&evidence.threads[0]), ["fit", "<module>"]);
}

#[test]
fn a_checkpoint_that_failed_tells_what_each_rank_raised() {
    let text = "[rank12]: Traceback (most recent call last):\n[rank12]:   File \"/opt/utils.py\", line 266, in all_reduce\n[rank12]:     raise final_result\n\
                [rank12]: torch.distributed.checkpoint.api.CheckpointException: CheckpointException ranks:dict_keys([8, 9])\n\
                [rank12]: Traceback (most recent call last): (RANK 8)\n[rank12]:   File \"/opt/filesystem.py\", line 546, in create_stream\n[rank12]:     with path.open(mode) as stream:\n\
                [rank12]: OSError: [Errno 116] Stale file handle: '/mnt/ckpt/__8_0.distcp'\n";
    let told = serde_json::to_value(evidence(text).timeline).expect("events are JSON");
    let raised: Vec<_> = told
        .as_array()
        .expect("a list")
        .iter()
        .map(|event| &event["detail"]["exception"])
        .collect();
    assert!(raised.iter().any(|name| **name == "OSError"), "{told:#}");
}

const RAISED: &str =
    "Traceback (most recent call last):\n  File \"/a/train.py\", line 9, in main\n    step()\nValueError: bad batch\n";

/// The text with so much before each line.
fn moved_in(text: &str, margin: &str) -> String {
    text.lines().map(|line| format!("{margin}{line}\n")).collect()
}

#[test]
fn a_traceback_that_is_moved_in_names_its_exception() {
    let in_a_log = format!("*** Error completing request\n{}\n---\n", moved_in(RAISED, "    "));
    let from_a_page = moved_in(&format!("epoch 1\n{RAISED}bye\n"), "      ");
    for text in [in_a_log, from_a_page, moved_in(RAISED, "\t\t")] {
        let evidence = evidence(&text);
        let [exception] = exceptions(&evidence)[..] else {
            panic!("{text}: {evidence:#?}")
        };
        assert_eq!(
            (exception.exception.as_str(), exception.message.as_str()),
            ("ValueError", "bad batch"),
            "{text}"
        );
    }
}

#[test]
fn machines_without_a_number_are_prefixes_too() {
    for host in ["host-b: ", "gpu7.cluster.local: "] {
        let evidence = evidence(&format!(
            "{host}[2024-01-22 18:03:10,044] [INFO] start\n{}",
            moved_in(RAISED, host)
        ));
        assert_eq!(exceptions(&evidence).len(), 1, "{host}: {evidence:#?}");
    }
}

#[test]
fn of_tracebacks_that_were_written_into_each_other_what_was_raised_counts() {
    let torn = "Traceback (most recent call last):\n  File \"/a/train.py\", line 9, in main\n    step()\nTraceback (most recent call last):\n ^^^  File \"/a/train.py\", line 9, in main\n^^^^Traceback (most recent call last):\n    step()  File \"/a/train.py\", line 9, in main\n ^^ValueError^^: ^^bad batch\nValueError: bad batch\n^^^\n";
    let launcher = "[torchrun] worker ended\n".repeat(30);
    let evidence = evidence(&format!("{torn}{launcher}"));
    assert!(
        exceptions(&evidence)
            .iter()
            .any(|raised| raised.exception == "ValueError"),
        "{evidence:#?}"
    );
}

#[test]
fn what_a_help_text_says_of_errors_did_not_happen() {
    let help = "usage: retrain [-h] [--max-restarts N] config\n\nTrain with recovery.\n\noptions:\n  -h, --help  show this\n\nCommon errors:\n  RuntimeError: DataLoader worker (pid 123) is killed by signal: Bus error.\n      start with --shm-size=16g\n";
    let kinds = |text: &str| -> Vec<&str> {
        let read = evidence(text);
        read.timeline.iter().map(|event| event.payload.kind()).collect()
    };
    assert!(!kinds(help).contains(&"dataloader-worker"), "{:?}", kinds(help));
    // What a program prints behind it happened.
    assert_eq!(kinds(&format!("{help}{RAISED}")), ["python-exception"]);
    let ignored = "Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f1ab2c0>\nRuntimeError: DataLoader worker (pid 50911) is killed by signal: Killed. \n";
    assert!(!kinds(ignored).contains(&"dataloader-worker"), "{:?}", kinds(ignored));
}

#[test]
fn dali_tells_what_happened_below_where_it_happened() {
    let text = "Traceback (most recent call last):\n  File \"main.py\", line 560, in train\n    for data in loader:\nRuntimeError: Critical error in pipeline:\n\
                Error in CPU operator `nvidia.dali.fn.readers.file`,\nwhich was used in the pipeline definition with the following traceback:\n\n  \
                File \"main.py\", line 301, in pipe\n    fn.readers.file()\n\nencountered:\n\nCould not open file /mnt/a.JPEG: Transport \
                endpoint is not connected\nStacktrace (7 entries):\n[frame 0]: /opt/libdali_core.so(+0x8fe9a) [0x7f4f6a2a5e9a]\nbye\n";
    let read = evidence(text);
    let [exception] = exceptions(&read)[..] else {
        panic!("{read:#?}")
    };
    assert!(exception.message.contains("endpoint is not connected"), "{exception:?}");
    assert!(!exception.message.contains("bye"), "{exception:?}");
}

#[test]
fn what_a_task_of_airflows_printed_is_read_below_its_name() {
    let line = "[2024-05-28T04:00:10.008+0000] {pod_manager.py:472} INFO - [base] ";
    let read = evidence(&moved_in(RAISED, line));
    assert_eq!(exceptions(&read).len(), 1, "{read:#?}");
}

#[test]
fn paddle_tells_what_happened_below_a_stack_of_c() {
    let text = "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\nMemoryError: \n\n--------------------------------------\n\
                C++ Traceback (most recent call last):\n--------------------------------------\n0   paddle::x()\n\n----------------------\n\
                Error Message Summary:\n----------------------\nResourceExhaustedError: \n\nOut of memory error on GPU 3. Cannot allocate \
                688.000000MB memory on GPU 3.\n (at ../paddle/fluid/memory/allocation/cuda_allocator.cc:86)\nbye\n";
    let read = evidence(text);
    let [exception] = exceptions(&read)[..] else {
        panic!("{read:#?}")
    };
    assert!(exception.message.contains("error on GPU 3"), "{exception:?}");
    assert!(!exception.message.contains("bye"), "{exception:?}");
}

#[test]
fn what_services_put_before_the_lines_of_their_workers_is_no_part_of_them() {
    for before in [
        "18:46:44  ",
        "17:52:11.940 ",
        "[2022-04-12, 00:06:12 UTC] {pod_manager.py:228} INFO - ",
        "2020-12-01 14:17:57,601 [INFO ] W-9000-DocTag_1.0-stdout org.pytorch.serve.wlm.WorkerLifeCycle - ",
        "2021-06-30 13:01:10 ERROR [1]<stderr>:",
    ] {
        let read = evidence(&moved_in(RAISED, before));
        assert_eq!(exceptions(&read).len(), 1, "{before}: {read:#?}");
    }
}
