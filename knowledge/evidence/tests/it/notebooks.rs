//! Tracebacks that notebooks print, in the forms that IPython has had.

use whycrash_evidence::Evidence;
use whycrash_evidence::model::Thread;

use crate::support::{evidence_of, exceptions};

fn evidence(text: &str) -> Evidence {
    evidence_of("notebook.log", text)
}

/// `function file:line` of each frame, innermost first.
fn frames(thread: &Thread) -> Vec<String> {
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    let frame = thread.frames.iter().map(|frame| {
        let line = frame.line.map_or(String::new(), |line| line.to_string());
        format!("{} {}:{line}", text(&frame.function), text(&frame.file))
    });
    frame.collect()
}

#[test]
fn a_cells_traceback_is_a_stack_innermost_first() {
    let evidence = evidence(concat!(
        "---------------------------------------------------------------------------\n",
        "KeyError                                  Traceback (most recent call last)\n",
        "Cell In[19], line 4\n",
        "      2 cfg = load()\n",
        "      3 \n",
        "----> 4 model = build(cfg)\n",
        "\n",
        "File ~/work/zoo/models.py:88, in build(cfg, **options)\n",
        "     86     width = 64\n",
        "---> 88     return Net(cfg[\"hidden\"])\n",
        "     89 \n",
        "\n",
        "KeyError: 'hidden'\n",
        "\n",
        "In [20]: \n",
    ));
    let [raised] = exceptions(&evidence)[..] else {
        panic!("{:#?}", evidence.timeline)
    };
    assert_eq!((&*raised.exception, &*raised.message), ("KeyError", "'hidden'"));
    assert_eq!(raised.relation, None);
    assert_eq!(
        frames(&evidence.threads[0]),
        ["build ~/work/zoo/models.py:88", "<module> Cell In[19]:4"]
    );
    assert!(evidence.threads[0].crashed);
}

#[test]
fn earlier_forms_have_the_line_beside_the_source() {
    let evidence = evidence(concat!(
        "ValueError                                Traceback (most recent call last)\n",
        "<ipython-input-3-f2a1c9d0> in <module>\n",
        "      1 for batch in loader:\n",
        "----> 2     step(batch)\n",
        "\n",
        "/job/train.py in step(batch, scale)\n",
        "     40     out = net(batch)\n",
        "---> 41     raise ValueError(\n",
        "     42         \"no\")\n",
        "\n",
        "ValueError: no sample of shard 7\n",
        "is whole\n",
    ));
    let [raised] = exceptions(&evidence)[..] else {
        panic!("{:#?}", evidence.timeline)
    };
    assert_eq!(raised.message, "no sample of shard 7\nis whole");
    assert_eq!(
        frames(&evidence.threads[0]),
        ["step /job/train.py:41", "<module> <ipython-input-3-f2a1c9d0>:2"]
    );
}

#[test]
fn what_was_raised_while_another_was_handled_is_told_apart() {
    let evidence = evidence(concat!(
        "KeyError                                  Traceback (most recent call last)\n",
        "Input In [5], in <cell line: 1>()\n",
        "      1 try:\n",
        "----> 2     x[\"a\"]\n",
        "\n",
        "KeyError: 'a'\n",
        "\n",
        "During handling of the above exception, another exception occurred:\n",
        "\n",
        "RuntimeError                              Traceback (most recent call last)\n",
        "Input In [5], in <cell line: 1>()\n",
        "      3 except KeyError:\n",
        "----> 4     raise RuntimeError(\"gave up\")\n",
        "\n",
        "RuntimeError: gave up\n",
    ));
    let told: Vec<_> = exceptions(&evidence)
        .iter()
        .map(|raised| (raised.exception.as_str(), raised.relation.as_deref()))
        .collect();
    assert_eq!(told, [("KeyError", Some("context")), ("RuntimeError", None)]);
}

#[test]
fn what_runs_a_notebook_quotes_its_traceback() {
    let evidence = evidence(concat!(
        "Traceback (most recent call last):\n",
        "  File \"/opt/bin/papermill\", line 8, in <module>\n",
        "    sys.exit(papermill())\n",
        "papermill.exceptions.PapermillExecutionError: \n",
        "---------------------------------------------------------------------------\n",
        "Exception encountered at \"In [7]\":\n",
        "---------------------------------------------------------------------------\n",
        "AttributeError                            Traceback (most recent call last)\n",
        "/tmp/ipykernel_51/183301.py in <module>\n",
        "----> 1 loss = trainer(batch).loss\n",
        "\n",
        "AttributeError: 'tuple' object has no attribute 'loss'\n",
    ));
    let last = exceptions(&evidence).pop().expect("an exception");
    assert_eq!(last.exception, "AttributeError");
    assert_eq!(last.message, "'tuple' object has no attribute 'loss'");
}
