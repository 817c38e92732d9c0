/** Which frames of a stack are worth a look, so that the rest can be folded away. */
import type { Frame } from '../api/types';

/** Functions that stand between a program's own code and the crash, on any stack of their kind. */
const MACHINERY: readonly RegExp[] = [
  // How a process dies, once something has decided that it must.
  /^(__GI_)?(raise|abort|gsignal|kill|tgkill)$/,
  /^(__)?pthread_kill/,
  /^__(assert|libc_message|fortify|chk|stack_chk)_?fail|^__libc_message|^malloc_printerr/,
  /^(std::terminate|__cxxabiv1::|__cxa_|_Unwind_|__gxx_personality|__gnu_cxx::__verbose_terminate)/,
  /^(faulthandler_|__restore_rt|<signal handler called>)/,
  /^(core::panicking|std::panicking|rust_begin_unwind|__rust_(start|begin)|std::sys::backtrace|core::ops::function::FnOnce)/,
  // How a process or a thread starts.
  /^(_start|start_thread|clone3?|__clone3?|__libc_start|__GI___clone|execute_native_thread_routine|std::rt::lang_start)/,
  /^std::(thread::|__invoke|function<|_Function_handler|__1::|invoke)/,
  // The interpreter between two Python functions.
  /^_?_?Py(Eval|Object|Function|Vectorcall|CFunction|Method|Run|_Run|Main|BytesMain|Import|Call|Obj|Number|Iter|_)/,
  /^(cfunction_|method_vectorcall|object_vacall|pymain_|run_mod|run_eval_code|vectorcall_|slot_tp_|type_call|partial_|builtin_exec|_bootstrap)/,
  // Bindings and dispatch.
  /^(pybind11::|c10::(impl::|Dispatcher|KernelFunction|BoxedKernel)|at::_ops::|torch::autograd::(VariableType|THPVariable))/,
];

/** The same for Python files that only pass calls on. */
const PASSING: readonly { file: RegExp; function?: RegExp }[] = [
  { file: /^<frozen (importlib|runpy)/ },
  { file: /[/\\]runpy\.py$/ },
  { file: /torch[/\\]nn[/\\]modules[/\\]module\.py$/, function: /^_(wrapped_)?call_impl$/ },
  { file: /[/\\]threading\.py$/, function: /^(_bootstrap(_inner)?|run)$/ },
  { file: /[/\\]multiprocessing[/\\](process|popen_\w+|spawn|context)\.py$/ },
];

export function isMachinery(frame: Frame): boolean {
  const name = frame.function ?? '';
  if (frame.kind === 'python') {
    const file = frame.file ?? '';
    return PASSING.some((known) => known.file.test(file) && (known.function?.test(name) ?? true));
  }
  return MACHINERY.some((pattern) => pattern.test(name));
}

/** Frames to show, or a run of frames to fold. `first` is the index of the first frame within its thread. */
export interface Run {
  first: number;
  frames: Frame[];
  folded: boolean;
}

/** A run shorter than this costs less space than the button that would unfold it. */
const WORTH_FOLDING = 2;

/** The stack in runs. Frames of a signal's handler are machinery too; those that `keep` names are never folded. */
export function foldStack(frames: readonly Frame[], keep: (index: number) => boolean): Run[] {
  const handlerEnd = frames.findIndex((frame) => frame.signal === true);
  const foldable = frames.map((frame, index) => !keep(index) && (index < handlerEnd || isMachinery(frame)));
  const runs: Run[] = [];
  frames.forEach((frame, index) => {
    const last = runs.at(-1);
    const folded = foldable[index] ?? false;
    if (last?.folded === folded) last.frames.push(frame);
    else runs.push({ first: index, frames: [frame], folded });
  });
  const allFolded = runs.every((run) => run.folded);
  return runs.map((run) => ({ ...run, folded: run.folded && !allFolded && run.frames.length >= WORTH_FOLDING }));
}
