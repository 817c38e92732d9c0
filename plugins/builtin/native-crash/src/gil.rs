//! Python's C API, entered by code that does not hold the interpreter's lock.

use whycrash_plugin::{Finding, Frame};

use crate::scene::Scene;
use crate::segv::{NULL_END, at_address};
use crate::stack::{describe, function, module};

/// Beginnings of functions that need the state of the calling thread and nothing that the caller passes: it is that
/// state that is null when one of them follows a null pointer.
const NEEDS_ONLY_THE_THREAD: [&str; 36] = [
    "PyBool_From",
    "PyBytes_From",
    "PyDict_New",
    "PyErr_",
    "PyEval_",
    "PyException_New",
    "PyFloat_From",
    "PyGILState_Release",
    "PyImport_",
    "PyInterpreterState_Get",
    "PyList_New",
    "PyLong_From",
    "PyMem_",
    "PyObject_GC_",
    "PyObject_Malloc",
    "PyObject_Free",
    "PyObject_Calloc",
    "PyObject_Realloc",
    "PyRun_",
    "PySet_New",
    "PyState_",
    "PySys_",
    "PyThreadState_",
    "PyTuple_New",
    "PyUnicode_From",
    "Py_BuildValue",
    "Py_IsFinalizing",
    "Py_MakePendingCalls",
    "_PyErr_",
    "_PyEval_",
    "_PyInterpreterState_",
    "_PyObject_GC_",
    "_PyObject_Malloc",
    "_PyThreadState_",
    "_Py_CheckFunctionResult",
    "_Py_Dealloc",
];

/// The interpreter's functions that run code: whoever is inside of them holds the lock.
const RUNS_CODE: [&str; 4] = ["_PyEval_Eval", "_PyEval_Vector", "PyEval_Eval", "Py_RunMain"];

/// A null pointer followed in the interpreter, which native code had entered. Either its thread runs no Python at all,
/// or it gave the lock up before: then only a function that needs nothing but the thread's state proves it.
pub fn violation(scene: &Scene) -> Option<Finding> {
    let stack = scene.native.as_ref()?;
    let near_null = scene.crash.address().is_none_or(|address| address < NULL_END);
    let entered = stack
        .frames
        .iter()
        .take_while(|(_, frame)| is_interpreter(frame))
        .count();
    let (inside, outside) = stack.frames.split_at(entered);
    let entry = inside.last()?;
    if !near_null || !is_api(&entry.1) || inside.iter().any(|(_, frame)| runs_code(frame)) {
        return None;
    }
    let runs_python = outside.iter().any(|(_, frame)| runs_code(frame));
    if runs_python && !needs_only_the_thread(&entry.1) {
        return None;
    }
    let who = if runs_python {
        "gave up the GIL before it called native code, which"
    } else {
        "runs no Python code, and"
    };
    let caller = outside.first();
    let by = caller.map_or_else(String::new, |(_, frame)| format!(" from {}", describe(frame)));
    Some(
        scene
            .finding("seg-gil-violation", 0.85)
            .because(format!(
                "Thread {} {who} called Python's C API without the GIL: {}{by}{}.",
                stack.thread(),
                describe(&entry.1),
                at_address(scene)
            ))
            .cite(stack.cite(entry))
            .cite_all(caller.map(|frame| stack.cite(frame)))
            .cite_all(stack.proof())
            .cite_all(scene.fault_facts()),
    )
}

fn is_interpreter(frame: &Frame) -> bool {
    let of_binary = module(frame).is_some_and(|name| name.starts_with("python3") || name.starts_with("libpython"));
    of_binary || is_api(frame)
}

fn is_api(frame: &Frame) -> bool {
    function(frame).is_some_and(|name| ["Py", "_Py"].iter().any(|start| name.starts_with(start)))
}

fn runs_code(frame: &Frame) -> bool {
    function(frame).is_some_and(|name| RUNS_CODE.iter().any(|start| name.starts_with(start)))
}

fn needs_only_the_thread(frame: &Frame) -> bool {
    function(frame).is_some_and(|name| NEEDS_ONLY_THE_THREAD.iter().any(|start| name.starts_with(start)))
}
